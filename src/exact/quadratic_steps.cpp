#include "exact/quadratic_steps.hpp"

#include <Eigen/Cholesky>

#include <cmath>

#include "search/curvature.hpp"
#include "search/quadratic_newton.hpp"

namespace magva {

namespace {

constexpr int kMostSteps = 30;
/// Share of its predicted gain that a step must bring: where C changes so much that it does not, ascents by
/// gradients are faster.
constexpr double kWorthyShare = .5;
/// Of the tolerance, in the search for the covariance.
constexpr double kInnerShare = .1;
/// Steps that settle an ascent, and the gain of one that is not worth a pass: in nats, and relative to the
/// ELBO.
constexpr int kMostSettlingSteps = 10;
constexpr double kSettledGain = 1e-8;
constexpr double kSettledShare = 1e-13;

/// The step that the Gaussian at a point asks for.
struct QuadraticStep {
  LowRankPoint to;
  double gain;           // nats, were C constant
  double gradient_norm;  // of the mean's gradient, in sds
};

/// To the mean that C asks for and to a covariance that was sought for it.
QuadraticStep step_from(const QuadraticAscent& ascent, QuadraticFit covariance) {
  const LowRankPoint& at = ascent.at;
  const Vector step = Eigen::LLT<Matrix>(ascent.here.curvature).solve(ascent.here.gradient);
  const double squared = step.dot(ascent.here.gradient);
  const double gain = .5 * squared + covariance.value -
                      QuadraticFitter(ascent.here.curvature).value(at.factors, at.residual_sd);
  return {{at.mean + step, std::move(covariance.factors), std::move(covariance.residual_sd)},
          gain,
          std::sqrt(squared)};
}

CurvedElbo evaluate(ExactElbo& elbo, const LowRankPoint& at) {
  CurvedElbo out = elbo.low_rank(at.mean, at.factors, at.residual_sd);
  if (std::isfinite(out.elbo) && Eigen::LLT<Matrix>(out.curvature).info() != Eigen::Success)
    out.curvature = positive_part(out.curvature);
  return out;
}

/// Goes on with a step that was found, if it rises; what it gained.
double take(ExactElbo& elbo, QuadraticAscent& ascent, QuadraticStep step) {
  CurvedElbo next = evaluate(elbo, step.to);
  const double gain = next.elbo - ascent.here.elbo;
  if (gain > 0) {
    ascent.at = std::move(step.to);
    ascent.here = std::move(next);
    ++ascent.stop.iterations;
  }
  return gain;
}

/// Notes what a step promises.
void note(QuadraticAscent& ascent, const QuadraticStep& step) {
  ascent.stop.predicted_gain = step.gain;
  ascent.stop.gradient_norm = step.gradient_norm;
}

}  // namespace

QuadraticAscent ascend_by_quadratics(ExactElbo& elbo, LowRankPoint start, double tolerance,
                                     const ExactObserver& go_on) {
  CurvedElbo first = evaluate(elbo, start);
  QuadraticAscent ascent{std::move(start), std::move(first), {}};
  ExactStop& stop = ascent.stop;
  while (std::isfinite(ascent.here.elbo) && stop.iterations < kMostSteps) {
    QuadraticStep step = step_from(
        ascent, QuadraticFitter(ascent.here.curvature)
                    .maximize_from(ascent.at.factors, ascent.at.residual_sd, kInnerShare * tolerance));
    note(ascent, step);
    stop.converged = step.gain < tolerance;
    stop.interrupted = !stop.converged && !go_on(elbo.passes(), ascent.here.elbo);
    if (stop.converged || stop.interrupted) break;
    const double worthy = kWorthyShare * step.gain;
    if (!(take(elbo, ascent, std::move(step)) >= worthy)) break;
  }
  return ascent;
}

bool settle_by_quadratics(ExactElbo& elbo, QuadraticAscent& ascent, const ExactObserver& go_on) {
  for (int k = 0; k < kMostSettlingSteps; ++k) {
    QuadraticStep step = step_from(
        ascent, newton_quadratic_fit(ascent.here.curvature, ascent.at.residual_sd, ascent.at.factors.cols()));
    note(ascent, step);
    if (step.gain < kSettledGain + kSettledShare * std::abs(ascent.here.elbo)) return true;
    if (!go_on(elbo.passes(), ascent.here.elbo)) return false;
    if (!(take(elbo, ascent, std::move(step)) > 0)) return false;
  }
  return false;
}

}  // namespace magva
