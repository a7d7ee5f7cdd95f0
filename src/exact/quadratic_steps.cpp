#include "exact/quadratic_steps.hpp"

#include <Eigen/Cholesky>

#include <cmath>
#include <optional>

#include "exact/corrected_curvature.hpp"
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
/// Of a Newton step to its covariance that is the last: what is left is for the next settling step.
constexpr double kSettlingGain = 1e-6;
/// Columns of C for each column of products, above which products are the cheaper pass; and terms for each
/// parameter from which on C changes so little that correcting it is enough.
constexpr Index kColumnsPerProduct = 8;
constexpr Index kTermsPerParameter = 10;

/// The step that the Gaussian at a point asks for.
struct QuadraticStep {
  LowRankPoint to;
  double gain;           // nats, were C constant
  double gradient_norm;  // of the mean's gradient, in sds
};

/// To the mean that C asks for and to a covariance that was sought for it.
QuadraticStep step_from(const QuadraticAscent& ascent, const QuadraticFitter& fitter,
                        QuadraticFit covariance) {
  const LowRankPoint& at = ascent.at;
  const Vector step = fitter.solve(ascent.here.gradient);
  const double squared = step.dot(ascent.here.gradient);
  const double gain = .5 * squared + covariance.value - fitter.value(at.factors, at.residual_sd);
  return {{at.mean + step, std::move(covariance.factors), std::move(covariance.residual_sd)},
          gain,
          std::sqrt(squared)};
}

bool positive_definite(const Matrix& curvature) {
  return Eigen::LLT<Matrix>(curvature).info() == Eigen::Success;
}

CurvedElbo evaluate(ExactElbo& elbo, const LowRankPoint& at) {
  CurvedElbo out = elbo.low_rank(at.mean, at.factors, at.residual_sd);
  if (std::isfinite(out.elbo) && !positive_definite(out.curvature))
    out.curvature = positive_part(out.curvature);
  return out;
}

bool products_are_cheaper(const ExactElbo& elbo, const LowRankPoint& at) {
  const Index m = at.mean.size();
  return m > kColumnsPerProduct * (at.factors.cols() + 2) &&
         elbo.expected().terms() >= kTermsPerParameter * m;
}

/// By a pass that corrects an older C; nothing where that gives no positive definite one.
std::optional<CurvedElbo> evaluate_products(ExactElbo& elbo, const LowRankPoint& at, const Matrix& older) {
  ProductElbo found = elbo.low_rank_products(at.mean, at.factors, at.residual_sd);
  CurvedElbo out{found.elbo, std::move(found.gradient), Matrix()};
  if (!std::isfinite(out.elbo)) return out;
  if (!(found.curvature.diagonal.array() > 0).all()) return std::nullopt;
  out.curvature = corrected_curvature(older, at.factors, found.curvature);
  if (!positive_definite(out.curvature)) return std::nullopt;
  return out;
}

/// C itself, where it was corrected only.
void renew_curvature(ExactElbo& elbo, QuadraticAscent& ascent) {
  if (ascent.source == CurvatureSource::kHere) return;
  ascent.here = evaluate(elbo, ascent.at);
  ascent.source = CurvatureSource::kHere;
}

/// Goes on with a step that was found, if it rises; what it gained.
double take(ExactElbo& elbo, QuadraticAscent& ascent, QuadraticStep step) {
  std::optional<CurvedElbo> next;
  if (ascent.source != CurvatureSource::kElsewhere && products_are_cheaper(elbo, step.to))
    next = evaluate_products(elbo, step.to, ascent.here.curvature);
  const CurvatureSource source = next ? CurvatureSource::kNearby : CurvatureSource::kHere;
  if (!next) next = evaluate(elbo, step.to);
  const double gain = next->elbo - ascent.here.elbo;
  if (gain > 0) {
    ascent.at = std::move(step.to);
    ascent.here = std::move(*next);
    ascent.source = source;
    ++ascent.stop.iterations;
  }
  return gain;
}

/// Notes what a step promises.
void note(QuadraticAscent& ascent, const QuadraticStep& step) {
  ascent.stop.predicted_gain = step.gain;
  ascent.stop.gradient_norm = step.gradient_norm;
}

void ascend(ExactElbo& elbo, QuadraticAscent& ascent, double tolerance, const ExactObserver& go_on) {
  ExactStop& stop = ascent.stop;
  while (std::isfinite(ascent.here.elbo) && stop.iterations < kMostSteps) {
    const QuadraticFitter fitter(ascent.here.curvature);
    QuadraticStep step =
        step_from(ascent, fitter,
                  fitter.maximize_from(ascent.at.factors, ascent.at.residual_sd, kInnerShare * tolerance));
    note(ascent, step);
    stop.converged = step.gain < tolerance;
    stop.interrupted = !stop.converged && !go_on(elbo.passes(), ascent.here.elbo);
    if (stop.converged || stop.interrupted) break;
    const double worthy = kWorthyShare * step.gain;
    const bool corrected = ascent.source != CurvatureSource::kHere;
    if (take(elbo, ascent, std::move(step)) >= worthy) continue;
    if (!corrected) break;
    renew_curvature(elbo, ascent);
  }
}

}  // namespace

QuadraticAscent ascend_by_quadratics(ExactElbo& elbo, LowRankPoint start, double tolerance,
                                     const ExactObserver& go_on) {
  CurvedElbo first = evaluate(elbo, start);
  QuadraticAscent ascent{std::move(start), std::move(first), CurvatureSource::kHere, {}};
  ascend(elbo, ascent, tolerance, go_on);
  return ascent;
}

QuadraticAscent ascend_by_quadratics(ExactElbo& elbo, LowRankPoint start, const Matrix& elsewhere,
                                     double tolerance, const ExactObserver& go_on) {
  std::optional<CurvedElbo> first;
  if (products_are_cheaper(elbo, start)) first = evaluate_products(elbo, start, elsewhere);
  if (!first) return ascend_by_quadratics(elbo, std::move(start), tolerance, go_on);
  QuadraticAscent ascent{std::move(start), std::move(*first), CurvatureSource::kElsewhere, {}};
  ascend(elbo, ascent, tolerance, go_on);
  return ascent;
}

bool settle_by_quadratics(ExactElbo& elbo, QuadraticAscent& ascent, const ExactObserver& go_on) {
  for (int k = 0; k < kMostSettlingSteps; ++k) {
    const QuadraticFitter fitter(ascent.here.curvature);
    QuadraticStep step = step_from(
        ascent, fitter,
        newton_quadratic_fit(fitter, ascent.at.residual_sd, ascent.at.factors.cols(), kSettlingGain));
    note(ascent, step);
    if (step.gain < kSettledGain + kSettledShare * std::abs(ascent.here.elbo)) return true;
    if (!go_on(elbo.passes(), ascent.here.elbo)) return false;
    const bool corrected = ascent.source != CurvatureSource::kHere;
    if (take(elbo, ascent, std::move(step)) > 0) continue;
    if (!corrected) return false;
    renew_curvature(elbo, ascent);
  }
  return false;
}

}  // namespace magva
