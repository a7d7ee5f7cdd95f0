#include "assess/other_modes.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/noise.hpp"
#include "search/curvature.hpp"
#include "search/mode_search.hpp"

namespace magva {

namespace {

/// Largest m: random directions find another mode only where there are few of them.
constexpr Index kMostDimensions = 32;
/// Directions, each on both sides, and how far out: so many sds, and more where a direction has only a small
/// part along any axis.
constexpr Index kDirections = 8;
constexpr double kDistance = 8;
constexpr double kDistanceDimensions = 3;
/// Reflections of the mode that are searched from, too.
constexpr std::size_t kReflections = 6;
constexpr int kSearchIterations = 60;
/// A mode is another one if it is so many sds from q's mean, and so many from the mode that belongs to q.
constexpr double kFromMean = 2.5;
constexpr double kFromMode = 2;
/// Points between two modes, and by how many nats the log density must fall below both at one of them.
constexpr Index kBetween = 15;
constexpr double kDip = .1;

double sds_apart(const Gaussian& q, const Vector& a, const Vector& b) {
  return q.factors().triangularView<Eigen::Lower>().solve(a - b).norm();
}

/// log of a mode's mass; nothing where it is no proper maximum.
std::optional<double> log_mass(Evaluator& evaluator, const PathPoint& mode) {
  const auto curvature = dense_curvature(evaluator, mode);
  if (!curvature) return std::nullopt;
  const Eigen::LLT<Matrix> factor(*curvature);
  if (factor.info() != Eigen::Success) return std::nullopt;
  const Matrix root = factor.matrixL();
  return mode.log_density - root.diagonal().array().log().sum();
}

/// Whether the log density dips on the way from one to the other: a search may also end early on a plateau.
bool separated(Evaluator& evaluator, const PathPoint& a, const PathPoint& b) {
  const Vector shares = Vector::LinSpaced(kBetween + 2, 0, 1).segment(1, kBetween);
  const Matrix between = evaluator.evaluate_lines(a.theta, b.theta - a.theta, shares);
  return between.minCoeff() < std::min(a.log_density, b.log_density) - kDip;
}

std::vector<Vector> far_points(const Gaussian& q, std::uint64_t seed) {
  const Index m = q.dimension();
  Matrix directions(m, kDirections);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, directions);
  const double distance = kDistance * std::max(1., std::sqrt(static_cast<double>(m) / kDistanceDimensions));
  std::vector<Vector> out;
  for (Index k = 0; k < kDirections; ++k)
    for (const double sign : {1., -1.})
      out.push_back(q.mean() + sign * distance * (q.factors() * directions.col(k).normalized()));
  return out;
}

/// The mode with two coordinates exchanged, with one of the other sign, with all of the other sign: where the
/// labels of components, or the signs of factors, are arbitrary, another mode is there.
Matrix reflections(const Vector& mode) {
  const Index m = mode.size();
  Matrix out = mode.replicate(1, m * (m - 1) / 2 + m + 1);
  Index column = 0;
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < i; ++j) {
      std::swap(out(i, column), out(j, column));
      ++column;
    }
  for (Index i = 0; i < m; ++i) out(i, column++) *= -1;
  out.col(column) *= -1;
  return out;
}

/// Of the reflections far from the mode, those where the log density is highest.
std::vector<Vector> reflected_points(Evaluator& evaluator, const Gaussian& q, const Vector& mode) {
  const Matrix all = reflections(mode);
  const Vector values = evaluator.evaluate_values(all);
  std::vector<Index> order;
  for (Index k = 0; k < all.cols(); ++k)
    if (std::isfinite(values(k)) && sds_apart(q, all.col(k), mode) > kFromMode) order.push_back(k);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return values(a) > values(b); });
  std::vector<Vector> out;
  for (std::size_t k = 0; k < std::min(kReflections, order.size()); ++k) out.push_back(all.col(order[k]));
  return out;
}

}  // namespace

std::optional<OtherMode> find_other_mode(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed) {
  if (q.dimension() > kMostDimensions) return std::nullopt;
  const Matrix curvature = q.solve(Matrix::Identity(q.dimension(), q.dimension()));
  const ModeSearch own = search_mode(evaluator, q.mean(), kSearchIterations, curvature);
  if (!own.converged) return std::nullopt;
  const auto own_mass = log_mass(evaluator, own.end);
  if (!own_mass) return std::nullopt;
  std::vector<Vector> starts = reflected_points(evaluator, q, own.end.theta);
  for (Vector& point : far_points(q, seed)) starts.push_back(std::move(point));
  std::optional<OtherMode> best;
  Vector unused(q.dimension());
  for (const Vector& start : starts) {
    if (!std::isfinite(evaluator.evaluate(start, unused))) continue;
    const ModeSearch found = search_mode(evaluator, start, kSearchIterations, curvature);
    if (!found.converged || sds_apart(q, found.end.theta, q.mean()) < kFromMean ||
        sds_apart(q, found.end.theta, own.end.theta) < kFromMode)
      continue;
    if (best && sds_apart(q, found.end.theta, best->theta) < kFromMode) continue;
    if (!separated(evaluator, own.end, found.end)) continue;
    const auto mass = log_mass(evaluator, found.end);
    if (!mass) continue;
    const double share = 1 / (1 + std::exp(*own_mass - *mass));
    if (!best || share > best->share) best = OtherMode{found.end.theta, share};
  }
  return best;
}

}  // namespace magva
