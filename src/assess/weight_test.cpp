#include "assess/weight_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "assess/doubts.hpp"
#include "assess/marginals.hpp"
#include "assess/moment_changes.hpp"
#include "assess/reweighted.hpp"
#include "core/elbo.hpp"

namespace magva {

namespace {

/// Where k-hat says that weights miss a part of a tail, they say too little of it: what they change by more
/// than this, beyond their own error, is in doubt. Fewer effective draws say nothing.
constexpr double kRoughDoubt = .1;
constexpr double kFewestRoughDraws = 100;
/// Draws at which quantities are looked at, where they take less than this share of the fit's gradients; at
/// least these, and most numbers of them. A few thousand draws say little of the sd of a quantity with a long
/// tail, such as a scale that may be large.
constexpr Index kMostQuantityDraws = 20'000;
constexpr Index kUsualQuantityDraws = 4000;
constexpr Index kFewestQuantityDraws = 400;
constexpr double kQuantityShare = .3;
constexpr Index kMostQuantityNumbers = 20'000'000;

Index quantity_draws(const Evaluator& evaluator, Index quantities) {
  const Control* control = evaluator.control();
  const auto fit = static_cast<double>(control == nullptr ? 0 : control->evaluations());
  const Index affordable =
      std::clamp(static_cast<Index>(kQuantityShare * fit), kUsualQuantityDraws, kMostQuantityDraws);
  return std::clamp(kMostQuantityNumbers / std::max<Index>(1, quantities), kFewestQuantityDraws, affordable);
}

/// Standard errors by which the assessment's draws must show that a quantity does not change.
constexpr double kUnchangedErrors = 3;

/// Whether the assessment's own draws show that no quantity changes by more than half of what is in doubt:
/// where the weights are nearly equal, and no quantity has a long tail.
bool shown_unchanged(const Gaussian& q, const Quantities& quantities, const SmoothedWeights& weights,
                     std::uint64_t seed, Workers& workers) {
  const Index draws = weights.log_weights.size();
  const auto count = static_cast<Index>(quantities.names.size());
  if (!telling(weights) || draws * std::max(count, q.dimension()) > kMostQuantityNumbers) return false;
  const MomentChanges found = moment_changes(quantities.at(elbo_draws(q, seed, 0, draws, workers)),
                                             exponentials(weights.log_weights));
  const auto shift =
      (found.weighted_mean - found.mean).array().abs() + kUnchangedErrors * found.mean_se.array();
  const auto ratio =
      (found.weighted_sd.array() / found.sd.array()).log().abs() + kUnchangedErrors * found.log_sd_se.array();
  for (Index k = 0; k < count; ++k)
    if (found.sd(k) != 0 && !(shift(k) < .5 * kDoubt * found.sd(k) && ratio(k) < .5 * kDoubt)) return false;
  return true;
}

/// What counts as a change by importance weights: more than the bound, less so many standard errors.
struct WeightTest {
  double bound;
  double standard_errors;
  const char* advice;
};

/// Nothing where the weights say nothing. Among m parameters the largest of m normals is about sqrt(2 log m).
std::optional<WeightTest> weight_test(const SmoothedWeights& weights, Index m) {
  // The sd of the log of an sd from so many draws; three times that for the worst of several.
  if (telling(weights))
    return WeightTest{kDoubt + 3 / std::sqrt(2 * weights.effective), 0, kCorrectByWeights};
  if (!(weights.khat <= kPoorKhat) || weights.effective < kFewestRoughDraws) return std::nullopt;
  return WeightTest{kRoughDoubt, std::max(2., std::sqrt(2 * std::log(static_cast<double>(m)))),
                    kSampleByMcmc};
}

void assess_reweighting(const std::optional<Reweighted>& moved, const WeightTest& test, Assessment& out) {
  if (!moved || !(moved->difference(test.standard_errors) > test.bound)) return;
  const Doubt doubt{moved->name, (moved->weighted_mean - moved->mean) / moved->sd,
                    moved->weighted_sd / moved->sd};
  if (!add_doubt(doubt, out)) return;
  out.warn(
      WarningKind::kReweighted,
      fmt::format(
          "importance weights change {} from {:.3g} (sd {:.3g}) to {:.3g} (sd {:.3g}): the approximation "
          "misses a part of the posterior; {}",
          moved->name, moved->mean, moved->sd, moved->weighted_mean, moved->weighted_sd, test.advice));
  if (moved->difference(test.standard_errors) > kUselessDoubt && out.ending.claims_optimum)
    out.trusted = false;
}

/// By weights of draws of its own, and the test that these pass; where they pass none, by that of the
/// assessment's.
void assess_quantities(Evaluator& evaluator, const Gaussian& q, const Quantities& quantities,
                       const WeightTest& otherwise, std::uint64_t seed, Assessment& out) {
  const Matrix theta = q.draws(quantity_draws(evaluator, static_cast<Index>(quantities.names.size())), seed);
  const Vector log_weights = evaluator.evaluate_values(theta) - q.log_density(theta);
  if (!log_weights.array().isFinite().any()) return;
  const SmoothedWeights weights = smooth_weights(log_weights);
  const WeightTest test = weight_test(weights, q.dimension()).value_or(otherwise);
  assess_reweighting(most_reweighted(quantities.names, quantities.at(theta),
                                     exponentials(weights.log_weights), test.standard_errors),
                     test, out);
}

}  // namespace

bool telling(const SmoothedWeights& weights) {
  return weights.khat <= kDoubtfulKhat && weights.effective >= kReweightingDraws;
}

Vector exponentials(const Vector& log_weights) { return log_weights.array().exp(); }

void assess_weighted_moments(Evaluator& evaluator, const Gaussian& q, const SmoothedWeights& weights,
                             const AssessmentOptions& options, Assessment& out) {
  const auto test = weight_test(weights, q.dimension());
  if (!test) return;
  if (options.quantities != nullptr) {
    if (!shown_unchanged(q.corrected(), *options.quantities, weights, options.seed + 1, evaluator.workers()))
      assess_quantities(evaluator, q.corrected(), *options.quantities, *test, options.seed, out);
    return;
  }
  const Gaussian& reported = out.correction_holds ? q.corrected() : q;
  assess_reweighting(
      most_reweighted(evaluator.model(), q.corrected(), reported, options.seed + 1,
                      exponentials(weights.log_weights), evaluator.workers(), test->standard_errors),
      *test, out);
}

}  // namespace magva
