#include "exact/low_rank.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/low_rank_plus_diagonal.hpp"
#include "exact/local_maxima.hpp"
#include "exact/quadratic_steps.hpp"
#include "exact/riemannian_lbfgs.hpp"
#include "exact/structured_starts.hpp"
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
/// Beyond kSearchDimension: starts in a row that may bring nothing, and the largest m for which moves of
/// spread factors are tried.
constexpr int kMostFruitless = 5;
constexpr Index kMoveDimension = 1000;

/// What scales ascents, for many of them: R is computed once.
struct AscentMetric {
  Vector conditional_sd;
  std::shared_ptr<const Matrix> root;  // null where there is no dense curvature
};

AscentMetric metric_of(const AscentScales& scales) {
  return {scales.conditional_sd,
          scales.curvature ? std::make_shared<const Matrix>(inverse_root(*scales.curvature)) : nullptr};
}

class LowRankObjective final : public RiemannianObjective {
 public:
  LowRankObjective(ExactElbo& elbo, const LowRankPoint& start, const AscentMetric& metric,
                   const ExactObserver& go_on)
      : elbo_(elbo),
        coordinates_(start.mean, metric.conditional_sd, metric.root, start.factors.cols(), elbo.workers()),
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

/// The local maximum above a point.
LowRankFit ascend_in(const AscentMetric& metric, ExactElbo& elbo, const LowRankPoint& start, double tolerance,
                     const ExactObserver& go_on) {
  LowRankObjective objective(elbo, start, metric, go_on);
  Ascent ascent = ascend(objective, objective.coordinates().coordinates(start), tolerance, kAscentIterations);
  return {objective.coordinates().point(ascent.x), ascent.value, ascent.stop, std::nullopt};
}

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
  return {std::move(fit.at), std::move(end), CurvatureSource::kHere, fit.stop};
}

/// Near the local maximum above a start: by steps with C, and where these end early by gradients.
QuadraticAscent approach_maximum(ExactElbo& elbo, const LowRankPoint& start,
                                 const std::optional<Matrix>& elsewhere, const ExactObserver& go_on) {
  QuadraticAscent ascent = elsewhere ? ascend_by_quadratics(elbo, start, *elsewhere, kExactTolerance, go_on)
                                     : ascend_by_quadratics(elbo, start, kExactTolerance, go_on);
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
double possible_gain(ExactElbo& elbo, double found, const LowRankPoint& other, double quadratic_gain) {
  LowRankDerivatives ignored;
  const double gain = elbo.low_rank(other.mean, other.factors, other.residual_sd, ignored) - found;
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
  const QuadraticFitter fitter(curvature);
  double own = fitter.value(found.at.factors, found.at.residual_sd);
  for (std::size_t k = 0; k < std::min(maxima.size(), kMostFollowed); ++k) {
    const QuadraticFit& rough = maxima[k];
    if (rough.value < maxima.front().value - kPromising) break;
    if (same_maximum(rough, found.at, own, curvature)) continue;
    const auto may_gain = [&](const QuadraticFit& at, double least) {
      return possible_gain(elbo, found.here.elbo, {mean, at.factors, at.residual_sd}, at.value - own) > least;
    };
    if (!may_gain(rough, -kRoughness)) continue;
    const QuadraticFit fine = newton_quadratic_fit(fitter, rough.residual_sd, rough.factors.cols());
    if (!may_gain(fine, kSmallestAdvantage)) continue;
    QuadraticAscent other = approach_maximum(elbo, {mean, fine.factors, fine.residual_sd}, curvature, go_on);
    if (other.here.elbo < found.here.elbo - kRoughness) continue;
    settle_at_maximum(elbo, other, go_on);
    if (!(other.here.elbo > found.here.elbo)) continue;
    found = std::move(other);
    own = fine.value;
  }
}

/// Where C and products with it cost little beside a pass.
LowRankFit fit_by_quadratics(ExactElbo& elbo, const LowRankPoint& start,
                             const std::optional<Matrix>& curvature, std::uint64_t seed,
                             const ExactObserver& go_on) {
  QuadraticAscent found = approach_maximum(elbo, narrowed(elbo, start), curvature, go_on);
  settle_at_maximum(elbo, found, go_on);
  if (start.factors.cols() > 0 && !found.stop.interrupted) follow_quadratic(elbo, found, seed, go_on);
  return {std::move(found.at), found.here.elbo, found.stop, std::move(found.here.curvature)};
}

/// The quadratic for E[-Hessian] at a maximum that was found, and what ascents there go by.
struct QuadraticThere {
  Matrix curvature;
  AscentMetric metric;
};

/// Where E[-Hessian] is not positive definite, the quadratic is that of the scales.
QuadraticThere quadratic_at(ExactElbo& elbo, const LowRankPoint& at, const AscentScales& scales) {
  Matrix curvature = elbo.low_rank(at.mean, at.factors, at.residual_sd).curvature;
  if (Eigen::LLT<Matrix>(curvature).info() != Eigen::Success) curvature = *scales.curvature;
  const Vector conditional_sd = curvature.diagonal().cwiseSqrt().cwiseInverse();
  AscentMetric metric = metric_of({conditional_sd, curvature});
  return {std::move(curvature), std::move(metric)};
}

/// Nats of a covariance over independent coordinates, for the quadratic.
double quadratic_gain(const QuadraticThere& there, const LowRankPoint& at) {
  const Vector& c = there.metric.conditional_sd;
  const double trace = (there.curvature * at.factors).cwiseProduct(at.factors).sum() +
                       at.residual_sd.cwiseQuotient(c).squaredNorm();
  const double log_determinant = LowRankPlusDiagonal(at.factors, at.residual_sd).log_determinant();
  return .5 * (static_cast<double>(c.size()) - trace + log_determinant) - c.array().log().sum();
}

Matrix covariance_of(const AscentMetric& metric) {
  const Index m = metric.root->rows();
  Matrix out = Matrix::Zero(m, m);
  out.selfadjointView<Eigen::Lower>().rankUpdate(*metric.root);
  out.triangularView<Eigen::StrictlyUpper>() = out.transpose();
  return out;
}

void highest_first(std::vector<StructuredStart>& starts) {
  std::stable_sort(starts.begin(), starts.end(),
                   [](const StructuredStart& a, const StructuredStart& b) { return a.gain > b.gain; });
}

/// Where local maxima for the quadratic lie, the highest first. Starts where factors explain coordinates
/// whole are such; from those with spread factors ascents begin, and from the best of these, if that is the
/// highest of all, moves.
std::vector<StructuredStart> quadratic_maxima(const QuadraticThere& there, Index rank, Workers& workers,
                                              std::uint64_t seed, const std::function<bool()>& go_on) {
  auto starts = structured_starts(covariance_of(there.metric), there.metric.conditional_sd, rank);
  const auto is_spread = [](const StructuredStart& start) { return start.spread_gain > 0; };
  if (std::none_of(starts.begin(), starts.end(), is_spread)) return starts;
  const QuadraticFitter fitter(there.curvature);
  const double independent = fitter.fit(0).value;
  for (StructuredStart& start : starts) {
    if (!is_spread(start) || !go_on()) continue;
    QuadraticFit fit = fitter.approach_from(start.factors, start.residual_sd);
    start = {std::move(fit.factors), std::move(fit.residual_sd), fit.value - independent, start.spread_gain};
  }
  highest_first(starts);
  if (!is_spread(starts.front()) || there.curvature.rows() > kMoveDimension) return starts;
  const StructuredStart best = starts.front();
  for (QuadraticFit& fit :
       search_local_maxima(there.curvature, {best.factors, best.residual_sd, 0}, workers, seed, go_on))
    starts.push_back(
        {std::move(fit.factors), std::move(fit.residual_sd), fit.value - independent, best.spread_gain});
  highest_first(starts);
  return starts;
}

/// Exact ascents from where local maxima for the quadratic lie, until several have brought nothing.
void follow_starts(ExactElbo& elbo, LowRankFit& found, const QuadraticThere& there, std::uint64_t seed,
                   const ExactObserver& go_on) {
  const auto starts = quadratic_maxima(there, found.at.factors.cols(), elbo.workers(), seed,
                                       [&] { return go_on(elbo.passes(), found.elbo); });
  double own = quadratic_gain(there, found.at);
  const Vector mean = found.at.mean;
  int fruitless = 0;
  for (const StructuredStart& start : starts) {
    const bool worthwhile = start.gain > starts.front().gain - kPromising && fruitless < kMostFruitless;
    if (!worthwhile || !go_on(elbo.passes(), found.elbo)) break;
    ++fruitless;
    const LowRankPoint from{mean, start.factors, start.residual_sd};
    if (!(possible_gain(elbo, found.elbo, from, start.gain - own) > kAscentTolerance)) continue;
    LowRankFit other = ascend_in(there.metric, elbo, from, kAscentTolerance, go_on);
    if (!(other.elbo > found.elbo)) continue;
    if (other.elbo > found.elbo + kAscentTolerance) fruitless = 0;
    found = std::move(other);
    own = start.gain;
  }
}

}  // namespace

LowRankFit ascend_low_rank(ExactElbo& elbo, const LowRankPoint& start, const AscentScales& scales,
                           double tolerance, const ExactObserver& go_on) {
  return ascend_in(metric_of(scales), elbo, start, tolerance, go_on);
}

LowRankFit fit_low_rank(ExactElbo& elbo, const LowRankPoint& start, const AscentScales& scales,
                        std::uint64_t seed, const ExactObserver& go_on) {
  const Index m = elbo.dimension();
  if (m <= kSearchDimension && m < 2 * elbo.expected().terms())
    return fit_by_quadratics(elbo, start, scales.curvature, seed, go_on);
  const AscentMetric metric = metric_of(scales);
  LowRankFit found = ascend_in(metric, elbo, narrowed(elbo, start), kAscentTolerance, go_on);
  const bool search = start.factors.cols() > 0 && m <= kDenseDimension && scales.curvature;
  if (!search || found.stop.interrupted) return ascend_in(metric, elbo, found.at, kFinalTolerance, go_on);
  const QuadraticThere there = quadratic_at(elbo, found.at, scales);
  follow_starts(elbo, found, there, seed, go_on);
  return ascend_in(there.metric, elbo, found.at, kFinalTolerance, go_on);
}

}  // namespace magva
