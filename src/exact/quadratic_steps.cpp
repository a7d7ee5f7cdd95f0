#include "exact/quadratic_steps.hpp"

#include <Eigen/Cholesky>

#include <cmath>

#include "search/curvature.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

namespace {

constexpr int kMostSteps = 30;
/// Share of its predicted gain that a step must bring: where C changes so much that it does not, ascents by
/// gradients are faster.
constexpr double kWorthyShare = .5;
/// Of the tolerance, in the search for the covariance.
constexpr double kInnerShare = .1;

/// The step that the Gaussian at a point asks for.
struct QuadraticStep {
  LowRankPoint to;
  double gain;           // nats, were C constant
  double gradient_norm;  // of the mean's gradient, in sds
};

QuadraticStep step_from(const LowRankPoint& at, const CurvedElbo& here, double tolerance) {
  const Vector step = Eigen::LLT<Matrix>(here.curvature).solve(here.gradient);
  const double squared = step.dot(here.gradient);
  const QuadraticFitter fitter(here.curvature);
  QuadraticFit best = fitter.maximize_from(at.factors, at.residual_sd, kInnerShare * tolerance);
  const double gain = .5 * squared + best.value - fitter.value(at.factors, at.residual_sd);
  return {{at.mean + step, std::move(best.factors), std::move(best.residual_sd)}, gain, std::sqrt(squared)};
}

CurvedElbo evaluate(ExactElbo& elbo, const LowRankPoint& at) {
  CurvedElbo out = elbo.low_rank(at.mean, at.factors, at.residual_sd);
  if (std::isfinite(out.elbo) && Eigen::LLT<Matrix>(out.curvature).info() != Eigen::Success)
    out.curvature = positive_part(out.curvature);
  return out;
}

}  // namespace

QuadraticClimb climb_by_quadratics(ExactElbo& elbo, LowRankPoint start, double tolerance,
                                   const ExactObserver& go_on) {
  LowRankPoint at = std::move(start);
  CurvedElbo here = evaluate(elbo, at);
  ExactStop stop;
  while (std::isfinite(here.elbo) && stop.iterations < kMostSteps) {
    QuadraticStep step = step_from(at, here, tolerance);
    stop.predicted_gain = step.gain;
    stop.gradient_norm = step.gradient_norm;
    stop.converged = step.gain < tolerance;
    stop.interrupted = !stop.converged && !go_on(elbo.passes(), here.elbo);
    if (stop.converged || stop.interrupted) break;
    CurvedElbo next = evaluate(elbo, step.to);
    const double gain = next.elbo - here.elbo;
    if (gain > 0) {
      at = std::move(step.to);
      here = std::move(next);
      ++stop.iterations;
    }
    if (!(gain >= kWorthyShare * step.gain)) break;
  }
  return {std::move(at), here.elbo, std::move(here.curvature), stop};
}

}  // namespace magva
