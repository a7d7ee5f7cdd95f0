#include "assess/tails.hpp"

#include <fmt/format.h>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <cmath>
#include <numbers>

#include "core/noise.hpp"

namespace magva {

namespace {

/// Tails are probed at kTailRadii radii of which the first, in sds, is kFirstTailRadius and each next is
/// twice as far.
constexpr int kTailRadii = 4;
constexpr double kFirstTailRadius = 16;
/// Principal axes and coordinates, at most, along which they are probed.
constexpr Index kTailFactors = 16;
constexpr Index kTailCoordinates = 128;
/// Largest m with all principal axes, m^3 operations; above it the widest, by so many iterations.
constexpr Index kAllAxesDimension = 500;
constexpr int kAxesIterations = 8;
/// A change of less than this many nats over a doubled radius is none.
constexpr double kFlatNats = .05;
/// Per doubled radius the fall itself doubles where tails are exponential and stays where they are a power
/// law.
constexpr double kHeavyGrowth = 1.5;
/// Where they look like a power law they are probed at so many radii more: what falls to a bound at first, as
/// a likelihood does along a bounded scale, may hide the exponential that is left.
constexpr int kFartherRadii = 3;
/// A log density that has fallen by more than this at the last radius has light tails in all but name; and
/// one that falls like a logarithm only after it has fallen by more than kEmptyFall at the first radius has
/// no mass there, if the logarithm falls fast enough for a finite mass.
constexpr double kLightFall = 100;
constexpr double kEmptyFall = 25;

struct Axis {
  Vector direction;  // one sd long
  std::string name;
};

// Of the covariance with unit variances, by subspace iteration.
Matrix widest_axes(const Gaussian& q, const Vector& sd) {
  const Index m = q.dimension();
  const auto times = [&](const Matrix& v) -> Matrix {
    return sd.cwiseInverse().asDiagonal() * q.times(sd.cwiseInverse().asDiagonal() * v);
  };
  Matrix directions(m, kTailFactors);
  Noise(1, NoiseStream::kRandomPoint).fill(0, 0, directions);
  for (int k = 0; k < kAxesIterations; ++k)
    directions = times(directions).householderQr().householderQ() * Matrix::Identity(m, kTailFactors);
  const Vector length = directions.cwiseProduct(times(directions)).colwise().sum().cwiseSqrt();
  return directions * length.asDiagonal();
}

// Each one sd long, the widest first. Scaled to unit variances, so that no parameter's unit decides.
Matrix principal_axes(const Gaussian& q) {
  const Vector sd = q.sd();
  if (q.dimension() > kAllAxesDimension) return sd.asDiagonal() * widest_axes(q, sd);
  const Matrix unit = sd.cwiseInverse().asDiagonal() * q.factors();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(unit * unit.transpose());
  const Matrix axes =
      sd.asDiagonal() * eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
  return axes.rowwise().reverse();
}

std::vector<Axis> axes(const Model& model, const Gaussian& q) {
  const Index m = q.dimension();
  std::vector<Axis> out;
  if (q.rank() > 0) {
    const Matrix wide = q.is_full_rank() ? principal_axes(q) : q.factors();
    for (Index j = 0; j < std::min<Index>(wide.cols(), kTailFactors); ++j)
      out.push_back({wide.col(j), fmt::format("principal axis {} of the approximation", j + 1)});
  }
  // Coordinates are probed with their conditional sds, so that a strong correlation does not hide a flat
  // direction.
  const Vector sd = q.sd();
  const Index stride = std::max<Index>(1, m / kTailCoordinates);
  for (Index i = 0; i < m; i += stride)
    out.push_back({sd(i) * Vector::Unit(m, i), "parameter " + model.parameter_name(i)});
  return out;
}

// Falls of the log density at the radii, from the mean.
TailKind classify(const double* fall) {
  for (int k = 0; k < kTailRadii; ++k)
    if (!std::isfinite(fall[k])) return TailKind::kLight;  // beyond the support, or beyond all numbers
  if (fall[kTailRadii - 1] > kLightFall) return TailKind::kLight;
  // Radii double: a power law falls by equal amounts, an exponential by doubling ones. A density that rises
  // somewhere on the way, as in a funnel, tells nothing.
  bool flat = true;
  bool heavy = true;
  for (int k = 2; k < kTailRadii; ++k) {
    const double last = fall[k] - fall[k - 1];
    const double before = fall[k - 1] - fall[k - 2];
    flat = flat && std::abs(last) < kFlatNats;
    heavy = heavy && last > 0 && before > 0 && last < kHeavyGrowth * before;
  }
  if (flat) return TailKind::kImproper;
  const bool empty = fall[0] > kEmptyFall && fall[kTailRadii - 1] - fall[kTailRadii - 2] > std::numbers::ln2;
  return heavy && !empty ? TailKind::kHeavy : TailKind::kLight;
}

/// In sds: the radii on one side, then on the other.
Vector tail_points() {
  Vector out(2 * kTailRadii);
  for (int k = 0; k < kTailRadii; ++k) {
    out(k) = std::ldexp(kFirstTailRadius, k);
    out(kTailRadii + k) = -out(k);
  }
  return out;
}

/// Whether it looks like a power law farther out, too, or cannot be told. `side`: 1 or -1.
bool stays_heavy(Evaluator& evaluator, const Gaussian& q, const Vector& direction, double side) {
  Vector points(kFartherRadii + 2);
  for (Index k = 0; k < points.size(); ++k)
    points(k) = side * std::ldexp(kFirstTailRadius, static_cast<int>(k) + kTailRadii - 2);
  const Vector height = evaluator.evaluate_lines(q.mean(), direction, points).col(0);
  if (!height.allFinite()) return true;
  for (Index k = 2; k < points.size(); ++k)
    if (height(k - 1) - height(k) >= kHeavyGrowth * (height(k - 2) - height(k - 1))) return false;
  return true;
}

}  // namespace

TailReport probe_tails(Evaluator& evaluator, const Gaussian& q) {
  const Index m = q.dimension();
  Vector at_mean(m);
  const double centre = evaluator.evaluate(q.mean(), at_mean);
  TailReport report;
  const std::vector<Axis> probed = axes(evaluator.model(), q);
  Matrix directions(m, static_cast<Index>(probed.size()));
  for (std::size_t j = 0; j < probed.size(); ++j) directions.col(static_cast<Index>(j)) = probed[j].direction;
  const Matrix fall = centre - evaluator.evaluate_lines(q.mean(), directions, tail_points()).array();
  for (std::size_t j = 0; j < probed.size(); ++j)
    for (Index side = 0; side < 2; ++side) {
      const TailKind kind = classify(fall.col(static_cast<Index>(j)).data() + side * kTailRadii);
      if (!(kind > report.kind)) continue;
      if (kind == TailKind::kHeavy && !stays_heavy(evaluator, q, probed[j].direction, side == 0 ? 1 : -1))
        continue;
      report = {kind, probed[j].name};
    }
  return report;
}

TailReport probe_tails(const Model& model, const Gaussian& q, int threads) {
  Evaluator evaluator(model, choose_threads(threads, model));
  return probe_tails(evaluator, q);
}

}  // namespace magva
