#include "exact/low_rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "exact/local_maxima.hpp"
#include "exact/quadratic_steps.hpp"
#include "exact/riemannian_lbfgs.hpp"
#include "search/curvature.hpp"
#include "search/quadratic_newton.hpp"

namespace magva {

namespace {

constexpr int kAscentIterations = 5000;
constexpr int kMostHalvings = 60;  // of a start's sds
/// Nats of a step and of the last iterations below which an ascent ends: of each, and of the one that is
/// kept.
constexpr double kAscentTolerance = 1e-3;
constexpr double kFinalTolerance = 2e-4;
constexpr double kSettledTolerance = 1e-8;  // where the end must not depend on rounding
/// Largest m for which local maxima are sought for the quadratic.
constexpr Index kSearchDimension = 300;
/// Of the quadratic's local maxima those within so many nats of the best, at most so many, are followed
/// exactly.
constexpr double kPromising = .05;
constexpr std::size_t kMostFollowed = 4;
/// Nats by which values of ascents that end early may be too low, and by which two maxima differ.
constexpr double kRoughness = 2e-3;
constexpr double kSmallestAdvantage = 1e-7;
/// Of the conditional variances, by which residual variances of one maximum may differ, seen roughly.
constexpr double kSameShare = .05;
/// Times what the exact ELBO and the quadratic differ by that an ascent may gain.
constexpr double kTrust = 2;
/// Exact ascents from other factors, where the quadratic's would cost as much: so many numbers in the
/// products of all their passes, at most so many, and so many, or so many for each factor, without anything
/// better.
constexpr double kExactEffort = 2e7;
constexpr double kMostExactAscents = 48;
constexpr Index kExactPatience = 16;
constexpr Index kExactPatiencePerFactor = 4;

class LowRankObjective final : public RiemannianObjective {
 public:
  LowRankObjective(ExactElbo& elbo, const LowRankPoint& start, const AscentScales& scales,
                   const ExactObserver& go_on)
      : elbo_(elbo),
        coordinates_(start.mean, scales.conditional_sd, scales.curvature, start.factors.cols(),
                     elbo.workers()),
        go_on_(go_on) {}

  LowRankCoordinates& coordinates() { return coordinates_; }

  double evaluate(ConstVectorRef x, Vector& gradient) override {
    const LowRankPoint point = coordinates_.point(x);
    const double value = elbo_.low_rank(point.mean, point.factors, point.residual_sd, derivatives_);
    gradient = std::isfinite(value) ? coordinates_.gradient(x, point, derivatives_) : Vector::Zero(x.size());
    return value;
  }
  void project(ConstVectorRef x, VectorRef v) override { coordinates_.project(x, v); }
  Vector retract(ConstVectorRef x, ConstVectorRef step) override { return coordinates_.retract(x, step); }
  bool go_on(double value) override { return go_on_(elbo_.passes(), value); }

 private:
  ExactElbo& elbo_;
  LowRankCoordinates coordinates_;
  const ExactObserver& go_on_;
  LowRankDerivatives derivatives_;
};

/// The start, or a narrower one with a higher ELBO: a mode's curvature says little of how wide the posterior
/// is.
LowRankPoint narrowed(ExactElbo& elbo, LowRankPoint point) {
  LowRankDerivatives ignored;
  double best = elbo.low_rank(point.mean, point.factors, point.residual_sd, ignored);
  for (int k = 0; k < kMostHalvings; ++k) {
    const double value = elbo.low_rank(point.mean, .5 * point.factors, .5 * point.residual_sd, ignored);
    if (std::isfinite(best) && !(value > best)) break;
    best = value;
    point.factors *= .5;
    point.residual_sd *= .5;
  }
  return point;
}

/// An ascent by gradients from where steps with C have ended, and C at its end.
QuadraticAscent go_on_by_gradients(ExactElbo& elbo, const QuadraticAscent& ascent, double tolerance,
                                   const ExactObserver& go_on) {
  const Matrix& curvature = ascent.here.curvature;
  const Vector conditional_sd = curvature.diagonal().cwiseSqrt().cwiseInverse();
  LowRankFit fit = ascend_low_rank(elbo, ascent.at, {conditional_sd, curvature}, tolerance, go_on);
  CurvedElbo end = elbo.low_rank(fit.at.mean, fit.at.factors, fit.at.residual_sd);
  end.curvature = positive_part(end.curvature);
  return {std::move(fit.at), std::move(end), fit.stop};
}

/// Near the local maximum above a start: by steps with C, and where these end early by gradients.
QuadraticAscent approach_maximum(ExactElbo& elbo, const LowRankPoint& start, const ExactObserver& go_on) {
  QuadraticAscent ascent = ascend_by_quadratics(elbo, start, kExactTolerance, go_on);
  if (ascent.stop.converged || ascent.stop.interrupted) return ascent;
  return go_on_by_gradients(elbo, ascent, kFinalTolerance, go_on);
}

/// That maximum: by steps with C, and where these hardly converge by gradients.
void settle_at_maximum(ExactElbo& elbo, QuadraticAscent& ascent, const ExactObserver& go_on) {
  if (!ascent.stop.converged || settle_by_quadratics(elbo, ascent, go_on)) return;
  QuadraticAscent closer = go_on_by_gradients(elbo, ascent, kSettledTolerance, go_on);
  if (!closer.stop.converged) closer.stop = ascent.stop;  // as it was
  settle_by_quadratics(elbo, closer, go_on);
  ascent = std::move(closer);
}

/// What an ascent from `other` may lead to above the maximum that was found. Where the exact ELBO differs
/// from what the quadratic says of both, so much may still be gained.
double possible_gain(ExactElbo& elbo, const QuadraticAscent& found, const LowRankPoint& other,
                     double quadratic_gain) {
  LowRankDerivatives ignored;
  const double gain = elbo.low_rank(other.mean, other.factors, other.residual_sd, ignored) - found.here.elbo;
  return gain + kTrust * std::abs(gain - quadratic_gain);
}

/// Whether an ascent has ended at the maximum that was found, whose value for the quadratic is `own`.
bool same_maximum(const QuadraticFit& rough, const LowRankPoint& found, double own, const Matrix& curvature) {
  const auto difference = rough.residual_sd.array().square() - found.residual_sd.array().square();
  return std::abs(rough.value - own) < kRoughness &&
         (difference * curvature.diagonal().array()).abs().maxCoeff() < kSameShare;
}

/// Of the local maxima for the quadratic there those that may be higher: seen roughly, as they were found,
/// then to rounding, so that of two maxima that are almost as high all runs choose the same.
void follow_quadratic(ExactElbo& elbo, QuadraticAscent& found, std::uint64_t seed,
                      const ExactObserver& go_on) {
  const Matrix curvature = found.here.curvature;
  const auto maxima =
      search_local_maxima(curvature, {found.at.factors, found.at.residual_sd, 0}, elbo.workers(), seed,
                          [&] { return go_on(elbo.passes(), found.here.elbo); });
  const Vector mean = found.at.mean;
  double own = QuadraticFitter(curvature).value(found.at.factors, found.at.residual_sd);
  for (std::size_t k = 0; k < std::min(maxima.size(), kMostFollowed); ++k) {
    const QuadraticFit& rough = maxima[k];
    if (rough.value < maxima.front().value - kPromising) break;
    if (same_maximum(rough, found.at, own, curvature)) continue;
    const auto may_gain = [&](const QuadraticFit& at, double least) {
      return possible_gain(elbo, found, {mean, at.factors, at.residual_sd}, at.value - own) > least;
    };
    if (!may_gain(rough, -kRoughness)) continue;
    const QuadraticFit fine = newton_quadratic_fit(curvature, rough.residual_sd, rough.factors.cols());
    if (!may_gain(fine, kSmallestAdvantage)) continue;
    QuadraticAscent other = approach_maximum(elbo, {mean, fine.factors, fine.residual_sd}, go_on);
    if (other.here.elbo < found.here.elbo - kRoughness) continue;
    settle_at_maximum(elbo, other, go_on);
    if (!(other.here.elbo > found.here.elbo)) continue;
    found = std::move(other);
    own = fine.value;
  }
}

/// Where C and products with it cost little beside a pass.
LowRankFit fit_by_quadratics(ExactElbo& elbo, const LowRankPoint& start, std::uint64_t seed,
                             const ExactObserver& go_on) {
  QuadraticAscent found = approach_maximum(elbo, narrowed(elbo, start), go_on);
  settle_at_maximum(elbo, found, go_on);
  if (start.factors.cols() > 0 && !found.stop.interrupted) follow_quadratic(elbo, found, seed, go_on);
  return {std::move(found.at), found.here.elbo, found.stop};
}

/// Exact ascents from other factors, until many have found nothing higher.
void follow_moves(ExactElbo& elbo, LowRankFit& found, const AscentScales& scales, std::uint64_t seed,
                  const ExactObserver& go_on) {
  const double pass = static_cast<double>(elbo.expected().terms()) * static_cast<double>(elbo.dimension()) *
                      static_cast<double>(found.at.factors.cols());
  const auto most = static_cast<std::uint64_t>(std::clamp(kExactEffort / pass, 1., kMostExactAscents));
  const FactorMoves moves(*scales.curvature, seed);
  const auto patience =
      static_cast<std::uint64_t>(std::max(kExactPatience, kExactPatiencePerFactor * found.at.factors.cols()));
  std::uint64_t tried = 0;  // from the best factors so far
  for (std::uint64_t k = 0; k < most && tried < patience && go_on(elbo.passes(), found.elbo); ++k) {
    const Matrix factors = moves.move(found.at.factors, tried++, k + 1);
    LowRankFit other = ascend_low_rank(elbo, {found.at.mean, factors, scales.conditional_sd}, scales,
                                       kAscentTolerance, go_on);
    if (other.elbo > found.elbo + kAscentTolerance) tried = 0;
    if (other.elbo > found.elbo) found = std::move(other);
  }
}

}  // namespace

LowRankFit ascend_low_rank(ExactElbo& elbo, const LowRankPoint& start, const AscentScales& scales,
                           double tolerance, const ExactObserver& go_on) {
  LowRankObjective objective(elbo, start, scales, go_on);
  Ascent ascent = ascend(objective, objective.coordinates().coordinates(start), tolerance, kAscentIterations);
  return {objective.coordinates().point(ascent.x), ascent.value, ascent.stop};
}

LowRankFit fit_low_rank(ExactElbo& elbo, const LowRankPoint& start, const AscentScales& scales,
                        std::uint64_t seed, const ExactObserver& go_on) {
  const Index m = elbo.dimension();
  if (m <= kSearchDimension && m < 2 * elbo.expected().terms())
    return fit_by_quadratics(elbo, start, seed, go_on);
  LowRankFit found = ascend_low_rank(elbo, narrowed(elbo, start), scales, kAscentTolerance, go_on);
  const bool search = start.factors.cols() > 0 && m <= kDenseDimension && scales.curvature;
  if (search && !found.stop.interrupted) follow_moves(elbo, found, scales, seed, go_on);
  return ascend_low_rank(elbo, found.at, scales, kFinalTolerance, go_on);
}

}  // namespace magva
