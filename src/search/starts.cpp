#include "search/starts.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include <cmath>
#include <limits>

#include "core/elbo.hpp"
#include "core/noise.hpp"
#include "magva/error.hpp"
#include "search/curvature.hpp"
#include "sparse/positive_precision.hpp"

namespace magva {

namespace {

/// Points tried for finite log densities, and their sd around the model's own start.
constexpr int kStartTrials = 100;
constexpr double kStartSpread = 1.2;
/// Every third point is over-dispersed: its spread is so many times as large.
constexpr int kWideEvery = 3;
constexpr double kWider = 3;
/// Rounds of curvature and further search, and iterations of each, that polish a mode where the curvature is
/// dense: plain L-BFGS may stop early where scales differ by 1e5.
constexpr int kPolishRounds = 2;
constexpr int kPolishIterations = 100;
/// A curvature that was changed by less to be positive definite is the log density's own.
constexpr double kSameCurvature = 1e-6;
/// A mode is found when a Newton step would gain less than this many nats.
constexpr double kNewtonDecrement = .05;
/// Points of a path whose local Gaussians are compared, and draws for each.
constexpr std::size_t kPathTrials = 8;
constexpr Index kPathDraws = 20;
/// Two modes are one where their squared distance, in the curvature's metric, is below this share of m.
constexpr double kSamePlace = .2;

}  // namespace

double Candidate::squared_length(ConstVectorRef v) const {
  return precision ? v.dot(precision->times(v).col(0)) : v.dot(*curvature * v);
}

Vector Candidate::curvature_diagonal() const {
  return precision ? precision->diagonal() : Vector(curvature->diagonal());
}

// Sigma = R R' with R = L'^-1. R' = QT gives Sigma = T'T: a Cholesky factor without forming the inverse.
Gaussian local_gaussian(const Candidate& candidate) {
  const Vector& mean = candidate.centre.theta;
  if (candidate.precision) return Gaussian::sparse(mean, candidate.precision);
  const Matrix root = candidate.curvature->llt().matrixU().solve(Matrix::Identity(mean.size(), mean.size()));
  const Matrix upper = root.transpose().householderQr().matrixQR().triangularView<Eigen::Upper>();
  return Gaussian::dense(mean, upper.transpose());
}

namespace {

/// A candidate, and whether its curvature is the log density's own.
struct CurvedPoint {
  Candidate candidate;
  bool as_found;
};

std::optional<CurvedPoint> curved_point(Evaluator& evaluator, PathPoint point,
                                        const HessianPattern* pattern) {
  CurvedPoint out{{std::move(point), std::nullopt, false, 0}, false};
  Candidate& candidate = out.candidate;
  if (pattern != nullptr) {
    const auto curvature = sparse_curvature(evaluator, candidate.centre, *pattern);
    if (!curvature) return std::nullopt;
    PositivePrecision positive = make_positive(*pattern, *curvature);
    if (!positive.precision) return std::nullopt;
    candidate.precision = std::move(positive.precision);
    out.as_found = positive.damping <= kSameCurvature;
    return out;
  }
  const auto curvature = dense_curvature(evaluator, candidate.centre);
  if (!curvature) return std::nullopt;
  candidate.curvature = positive_part(*curvature);
  out.as_found = candidate.curvature->isApprox(*curvature, kSameCurvature);
  return out;
}

/// What a Newton step would gain, in nats.
double newton_decrement(const Candidate& at) {
  const Vector& gradient = at.centre.gradient;
  if (at.precision) return .5 * at.precision->solve(gradient).col(0).dot(gradient);
  const Vector step = Eigen::LLT<Matrix>(*at.curvature).solve(gradient);
  return .5 * step.dot(gradient);
}

}  // namespace

ModeSearch search_with_curvature(Evaluator& evaluator, ConstVectorRef start, int max_iterations,
                                 const Candidate& known) {
  return known.precision ? search_mode(evaluator, start, max_iterations, known.precision)
                         : search_mode(evaluator, start, max_iterations, *known.curvature);
}

std::optional<Candidate> candidate_at(Evaluator& evaluator, PathPoint point, const HessianPattern* pattern) {
  auto found = curved_point(evaluator, std::move(point), pattern);
  if (!found) return std::nullopt;
  return std::move(found->candidate);
}

std::vector<Vector> start_points(Evaluator& evaluator, ConstVectorRef first, int count, std::uint64_t seed) {
  const Index m = evaluator.dimension();
  std::vector<Vector> points;
  Vector gradient(m);
  const Noise noise(seed, NoiseStream::kStarts);
  for (int trial = 0; trial < kStartTrials && static_cast<int>(points.size()) < count; ++trial) {
    Vector point = first;
    if (trial > 0) {
      Matrix z(m, 1);
      noise.fill(static_cast<std::uint64_t>(trial), 0, z);
      // Later trials stay nearer to the first point, in case the support is small.
      const double spread = trial % kWideEvery == 0 ? kWider * kStartSpread : kStartSpread;
      point += spread * std::pow(.9, std::max(0, trial - 2 * count)) * z.col(0);
    }
    if (std::isfinite(evaluator.evaluate(point, gradient))) points.push_back(std::move(point));
  }
  if (points.empty())
    throw DataError(
        "the log density is not finite at the start nor at random points around it; give a start inside its "
        "support");
  return points;
}

std::optional<Candidate> polish_mode(Evaluator& evaluator, const PathPoint& from,
                                     const HessianPattern* pattern) {
  std::optional<Candidate> best;
  PathPoint at = from;
  for (int round = 0;; ++round) {
    auto found = curved_point(evaluator, at, pattern);
    if (!found) break;
    best = std::move(found->candidate);
    if (newton_decrement(*best) < kNewtonDecrement) {
      best->is_mode = found->as_found;
      break;
    }
    if (round == kPolishRounds) break;
    at = search_with_curvature(evaluator, at.theta, kPolishIterations, *best).end;
  }
  return best;
}

std::optional<Candidate> best_on_path(Evaluator& evaluator, const std::vector<PathPoint>& path,
                                      std::uint64_t seed) {
  std::optional<Candidate> best;
  double best_elbo = -std::numeric_limits<double>::infinity();
  const std::size_t stride = std::max<std::size_t>(1, path.size() / kPathTrials);
  for (std::size_t i = 0; i < path.size(); i += stride) {
    auto candidate = candidate_at(evaluator, path[i], nullptr);
    if (!candidate) continue;
    const ElboEstimate estimate = estimate_elbo(evaluator, local_gaussian(*candidate), kPathDraws, seed);
    if (estimate.rejected > kPathDraws / 4 || !(estimate.elbo > best_elbo)) continue;
    best_elbo = estimate.elbo;
    best = std::move(candidate);
  }
  return best;
}

bool same_place(const Candidate& a, const Candidate& b) {
  if (a.is_mode != b.is_mode) return false;
  const Vector difference = a.centre.theta - b.centre.theta;
  const double distance2 = a.has_curvature() ? a.squared_length(difference)
                                             : 2 * std::abs(a.centre.log_density - b.centre.log_density);
  return distance2 < kSamePlace * static_cast<double>(std::max<Index>(1, difference.size()));
}

}  // namespace magva
