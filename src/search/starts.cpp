#include "search/starts.hpp"

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include <cmath>
#include <limits>

#include "core/elbo.hpp"
#include "core/noise.hpp"
#include "magva/error.hpp"
#include "search/curvature.hpp"

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
/// A mode is found when a Newton step would gain less than this many nats.
constexpr double kNewtonDecrement = .05;
/// Points of a path whose local Gaussians are compared, and draws for each.
constexpr std::size_t kPathTrials = 8;
constexpr Index kPathDraws = 20;
/// Two modes are one where their squared distance, in the curvature's metric, is below this share of m.
constexpr double kSamePlace = .2;

}  // namespace

// Sigma = R R' with R = L'^-1. R' = QT gives Sigma = T'T: a Cholesky factor without forming the inverse.
Gaussian local_gaussian(const Candidate& candidate) {
  const Vector& mean = candidate.centre.theta;
  const Matrix root = candidate.curvature->llt().matrixU().solve(Matrix::Identity(mean.size(), mean.size()));
  const Matrix upper = root.transpose().householderQr().matrixQR().triangularView<Eigen::Upper>();
  return Gaussian::dense(mean, upper.transpose());
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
  Candidate candidate{from, std::nullopt, false, 0};
  for (int round = 0;; ++round) {
    const auto curvature = dense_curvature(evaluator, candidate.centre, pattern);
    if (!curvature) break;
    candidate.curvature = positive_part(*curvature);
    const Vector step = Eigen::LLT<Matrix>(*candidate.curvature).solve(candidate.centre.gradient);
    if (.5 * step.dot(candidate.centre.gradient) < kNewtonDecrement) {
      candidate.is_mode = candidate.curvature->isApprox(*curvature, 1e-6);
      break;
    }
    if (round == kPolishRounds) break;
    candidate.centre =
        search_mode(evaluator, candidate.centre.theta, kPolishIterations, *candidate.curvature).end;
  }
  if (!candidate.curvature) return std::nullopt;
  return candidate;
}

std::optional<Candidate> best_on_path(Evaluator& evaluator, const ModeSearch& search, std::uint64_t seed,
                                      const HessianPattern* pattern) {
  std::optional<Candidate> best;
  double best_elbo = -std::numeric_limits<double>::infinity();
  const std::size_t stride = std::max<std::size_t>(1, search.path.size() / kPathTrials);
  for (std::size_t i = 0; i < search.path.size(); i += stride) {
    const auto curvature = dense_curvature(evaluator, search.path[i], pattern);
    if (!curvature) continue;
    Candidate candidate{search.path[i], positive_part(*curvature), false, 0};
    const ElboEstimate estimate = estimate_elbo(evaluator, local_gaussian(candidate), kPathDraws, seed);
    if (estimate.rejected > kPathDraws / 4 || !(estimate.elbo > best_elbo)) continue;
    best_elbo = estimate.elbo;
    best = std::move(candidate);
  }
  return best;
}

bool same_place(const Candidate& a, const Candidate& b) {
  if (a.is_mode != b.is_mode) return false;
  const Vector difference = a.centre.theta - b.centre.theta;
  const double distance2 = a.curvature ? difference.dot(*a.curvature * difference)
                                       : 2 * std::abs(a.centre.log_density - b.centre.log_density);
  return distance2 < kSamePlace * static_cast<double>(std::max<Index>(1, difference.size()));
}

}  // namespace magva
