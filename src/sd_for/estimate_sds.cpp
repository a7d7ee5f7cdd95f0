// Sds of all parameters of fits of low rank that are too large for linear response as a whole: a stochastic
// estimate of its diagonal.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/evaluator.hpp"
#include "fit/runs.hpp"
#include "sd_for/diagonal_estimate.hpp"
#include "sd_for/family_response.hpp"
#include "sd_for/sampled_columns.hpp"

namespace magva {

namespace {

/// Probes: two show what one takes; then twice as many while the median error is larger and work is left. So
/// few say nothing of their own error.
constexpr Index kFirstProbes = 2;
constexpr Index kFewestProbes = 8;
constexpr Index kMostProbes = 64;
constexpr double kSmallError = .015;
/// Of the logarithm of an sd: with a larger standard error it is left as it is.
constexpr double kLargestError = .05;
/// True changes differ by at least this, as a logarithm, from each other.
constexpr double kLeastSpread = .02;
/// The mean square of the changes holds that of their errors. Twice that is where the estimates are as far
/// off as what they replace; so many times are asked for.
constexpr double kLeastGain = 4;
/// Relative, of each product's solution: far below what the probes leave.
constexpr double kProbeResidual = 1e-2;
constexpr Index kProbePairs = 8;
/// Gradients or passes over the data, as a multiple of the fit's.
constexpr double kEffort = 1;

double median_of(Vector values) {
  auto* middle = values.data() + values.size() / 2;
  std::nth_element(values.data(), middle, values.data() + values.size());
  return *middle;
}

/// What is common to all changes is known far better than each: an empirical Bayes estimate draws them
/// towards their mean by as much as their errors explain their spread (Efron and Morris 1975).
void shrink(SdEstimates& estimates) {
  double mean = 0, spread = 0, weight = 0;
  const auto known = [&](Index i) { return std::isfinite(estimates.log_change(i)); };
  for (Index i = 0; i < estimates.se.size(); ++i) {
    if (!known(i)) continue;
    mean += estimates.log_change(i);
    weight += 1;
  }
  if (weight < 2) return;
  mean /= weight;
  for (Index i = 0; i < estimates.se.size(); ++i)
    if (known(i)) spread += std::pow(estimates.log_change(i) - mean, 2) - estimates.se(i) * estimates.se(i);
  const double variance = std::max(kLeastSpread * kLeastSpread, spread / weight);
  for (Index i = 0; i < estimates.se.size(); ++i) {
    if (!known(i)) continue;
    const double share = variance / (variance + estimates.se(i) * estimates.se(i));
    estimates.log_change(i) = mean + share * (estimates.log_change(i) - mean);
    estimates.se(i) *= std::sqrt(share);
  }
}

/// Of the logarithms of the sds.
SdEstimates log_changes(const DiagonalEstimate& found, const Vector& sd) {
  SdEstimates out{Vector::Constant(sd.size(), std::numeric_limits<double>::quiet_NaN()),
                  Vector::Constant(sd.size(), std::numeric_limits<double>::infinity()), 0};
  for (Index i = 0; i < sd.size(); ++i) {
    if (!(found.value(i) > 0)) continue;
    out.log_change(i) = .5 * std::log(found.value(i)) - std::log(sd(i));
    out.se(i) = .5 * found.se(i) / found.value(i);
  }
  shrink(out);
  return out;
}

/// Leaves those with small errors, if they are nearer than what they replace; else none.
std::optional<SdEstimates> those_that_gain(SdEstimates estimates) {
  double changes = 0, errors = 0;
  Index kept = 0;
  for (Index i = 0; i < estimates.se.size(); ++i) {
    if (!(estimates.se(i) <= kLargestError)) {
      estimates.log_change(i) = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    ++kept;
    changes += estimates.log_change(i) * estimates.log_change(i);
    errors += estimates.se(i) * estimates.se(i);
  }
  if (kept == 0 || !(changes > kLeastGain * errors)) return std::nullopt;
  return estimates;
}

/// What has been spent so far, in gradients or passes, and what may be.
struct Budget {
  std::function<double()> spent;
  double most;

  /// Probes that it is enough for, at the price of those so far.
  Index probes(Index so_far) const {
    return std::min(kMostProbes, static_cast<Index>(most / spent() * static_cast<double>(so_far)));
  }
};

/// Doubles the probes while their errors are large, if work for enough of them is left.
std::optional<SdEstimates> estimate(const Gaussian& q, MatrixProduct product, std::uint64_t seed,
                                    const Budget& budget) {
  DiagonalEstimator estimator(q, std::move(product), seed);
  if (!estimator.add_probes(kFirstProbes)) return std::nullopt;
  SdEstimates found = log_changes(estimator.estimate(), q.sd());
  while (estimator.probes() < kFewestProbes || median_of(found.se) > kSmallError) {
    const Index most = budget.probes(estimator.probes());
    const double shrinks = std::sqrt(static_cast<double>(estimator.probes()) / static_cast<double>(most));
    const bool hopeless =
        estimator.probes() >= kFewestProbes && median_of(found.se) * shrinks > kLargestError;
    if (most < kFewestProbes || hopeless) return std::nullopt;
    if (most < 2 * estimator.probes()) break;
    if (!estimator.add_probes(estimator.probes())) return std::nullopt;
    found = log_changes(estimator.estimate(), q.sd());
  }
  found.probes = estimator.probes();
  return those_that_gain(std::move(found));
}

std::optional<SdEstimates> estimate_exactly(Evaluator& evaluator, const Gaussian& q, double passes,
                                            std::uint64_t seed) {
  ExactElbo elbo(*evaluator.model().expectations(), evaluator.workers());
  const ExactObserver go_on = [&](std::int64_t, double) {
    evaluator.control()->poll();
    return static_cast<double>(elbo.passes()) <= 2 * kEffort * passes;
  };
  return estimate(q, [&](const Vector& tilt) { return response_to(elbo, q, tilt, kProbeResidual, go_on); },
                  seed, {[&] { return static_cast<double>(elbo.passes()); }, kEffort * passes});
}

std::optional<SdEstimates> estimate_by_draws(Evaluator& evaluator, const Gaussian& q, double gradients,
                                             std::uint64_t seed) {
  const MeanCurvature curvature(evaluator, q, kProbePairs, seed);
  const std::int64_t before = evaluator.evaluations();
  return estimate(
      q, [&](const Vector& tilt) { return curvature.solve(tilt, kProbeResidual); }, seed,
      {[&] { return static_cast<double>(evaluator.evaluations() - before); }, kEffort * gradients});
}

}  // namespace

void estimate_sds(const Model& model, const FitOptions& options, const std::vector<Observer>& observers,
                  FitResult& result) {
  const Gaussian& q = result.posterior;
  if (result.stopped != StopReason::kConverged || q.has_shape() || q.has_correction() || q.is_full_rank())
    return;
  Control control({.seconds = options.time_limit - result.seconds}, observers, Phase::kAssessment);
  control.go_on_from({{Phase::kAssessment, 0, result.gradient_evaluations, result.seconds, result.elbo},
                      static_cast<double>(result.gradient_evaluations)});
  Evaluator evaluator(model, choose_threads(options.threads, model), &control);
  const auto effort = static_cast<double>(result.gradient_evaluations);
  try {
    control.enter(Phase::kAssessment);
    result.sd_estimates = result.expectations == Expectations::kExact
                              ? estimate_exactly(evaluator, q, effort, options.seed)
                              : estimate_by_draws(evaluator, q, effort, options.seed);
  } catch (const Stopped&) {  // the sds stay as they are
  }
  result.seconds = control.seconds();
}

}  // namespace magva
