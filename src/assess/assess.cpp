#include "assess/assess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "assess/pareto.hpp"
#include "assess/reweighted.hpp"
#include "assess/tails.hpp"
#include "core/elbo.hpp"

namespace magva {

namespace {

/// Draws and seconds, at most, for a fit that was stopped early.
constexpr Index kHurriedDraws = 200;
constexpr double kHurriedSeconds = .25;
/// Share of rejected draws above which a warning, and a result not to be trusted, are due.
constexpr double kRejectedWarning = .01;
constexpr double kRejectedPoor = .2;
/// Importance weights may leave exp(-kLostNats) of the draws effective, a tenth, or exp(-kLostShare) for
/// every parameter: small differences in many directions add up.
constexpr double kLostNats = 2.3;
constexpr double kLostShare = .1;
/// A fit whose log weights have a smaller sd is close, whatever their tail: its KL divergence, about half the
/// square, is then below an eighth of a nat.
constexpr double kCloseSpread = .5;
/// A mean or sd that weights change by more, an sd that is a third off, is not to be trusted.
constexpr double kMostReweighted = .3;
/// Coordinates are reweighted where so many draws are effective: the sd of the log of an sd is then .035, and
/// several times that for the worst of many.
constexpr double kReweightingDraws = 400;
/// Draws at which quantities are looked at, and most numbers of them.
constexpr Index kMostQuantityDraws = 4000;
constexpr Index kFewestQuantityDraws = 400;
constexpr Index kMostQuantityNumbers = 20'000'000;

void assess_ending(Assessment& out) {
  const FitEnding& ending = out.ending;
  if (ending.stopped == StopReason::kDiverged)
    out.distrust(WarningKind::kNotConverged, fmt::format("the fit diverged: {}", ending.detail));
  else if (ending.stopped == StopReason::kInterrupted || ending.stopped == StopReason::kTimeLimit)
    out.distrust(WarningKind::kNotConverged,
                 fmt::format("the fit was stopped early ({}): more time would help", ending.detail));
  else if (!ending.finished)
    out.distrust(WarningKind::kNotConverged,
                 fmt::format("the fit has not converged ({}): {}", to_string(ending.stopped), ending.detail));
}

void assess_tails(Evaluator& evaluator, const Gaussian& q, Assessment& out) {
  const TailReport tails = probe_tails(evaluator, q);
  if (tails.kind == TailKind::kImproper)
    out.distrust(WarningKind::kImproper,
                 fmt::format("the log density does not fall along {}: the posterior is improper, as with "
                             "perfectly separated data and flat priors; give the parameters proper priors",
                             tails.where));
  else if (tails.kind == TailKind::kHeavy)
    out.distrust(WarningKind::kHeavyTails,
                 fmt::format("the log density falls only like a logarithm along {}: the posterior has heavy "
                             "tails, which no Gaussian has",
                             tails.where));
}

void assess_rejections(const ElboEstimate& estimate, Assessment& out) {
  const auto draws = static_cast<double>(std::max<Index>(1, estimate.log_weights.size()));
  const double share = static_cast<double>(estimate.rejected) / draws;
  if (share <= kRejectedWarning) return;
  out.warn(WarningKind::kRejectedDraws,
           fmt::format("the log density was not finite at {:.1f} % of the draws", 100 * share));
  if (share > kRejectedPoor) out.trusted = false;
}

// k-hat does not see how large the weights' spread is: where it is small, heavy tails are of no consequence.
// Only a full-rank Gaussian claims to be close to the posterior; others are known to be narrower.
void assess_weights(const ElboEstimate& estimate, const SmoothedWeights& weights, const Gaussian& q,
                    Assessment& out) {
  const auto draws = static_cast<double>(estimate.log_weights.size());
  const double spread = estimate.se * std::sqrt(draws);
  const bool far = out.ending.claims_optimum && q.is_dense() && spread > kCloseSpread;
  const double lost = -std::log(weights.effective / draws);
  const std::string khat = fmt::format("k-hat is {:.2f}, {}", weights.khat, describe_khat(weights.khat));
  if (weights.khat > kPoorKhat && far)
    out.distrust(WarningKind::kKhat, khat);
  else if (far && lost > std::max(kLostNats, kLostShare * static_cast<double>(q.dimension())))
    out.distrust(
        WarningKind::kFarFromGaussian,
        fmt::format("{:.0f} draws of the Gaussian are worth {:.0f} of the posterior (k-hat {:.2f}): it is "
                    "not close to a Gaussian",
                    draws, weights.effective, weights.khat));
  else if (weights.khat > kDoubtfulKhat)
    out.warn(WarningKind::kKhat, khat);
}

Vector exponentials(const Vector& log_weights) { return log_weights.array().exp(); }

std::optional<Reweighted> reweight_quantities(Evaluator& evaluator, const Gaussian& q,
                                              const Quantities& quantities, std::uint64_t seed) {
  const auto count = static_cast<Index>(quantities.names.size());
  const Index draws =
      std::clamp(kMostQuantityNumbers / std::max<Index>(1, count), kFewestQuantityDraws, kMostQuantityDraws);
  const Matrix theta = q.draws(draws, seed);
  Vector log_density(draws);
  Matrix gradient(q.dimension(), draws);
  evaluator.evaluate(theta, log_density, gradient);
  const Vector log_weights = log_density - q.log_density(theta);
  if (!log_weights.array().isFinite().any()) return std::nullopt;
  return most_reweighted(quantities.names, quantities.at(theta),
                         exponentials(smooth_weights(log_weights).log_weights));
}

void assess_reweighting(const std::optional<Reweighted>& moved, bool claim, Assessment& out) {
  if (!moved || !(moved->difference() > kMostReweighted)) return;
  out.warn(
      WarningKind::kReweighted,
      fmt::format("importance weights change {} from {:.3g} (sd {:.3g}) to {:.3g} (sd {:.3g}): the Gaussian "
                  "misses a part of the posterior; resample its draws by importance, or sample this model "
                  "by MCMC",
                  moved->name, moved->mean, moved->sd, moved->weighted_mean, moved->weighted_sd));
  // A fit that promises nothing is only warned of.
  if (claim && out.ending.stopped == StopReason::kConverged) out.trusted = false;
}

/// What takes further evaluations, and is left out where there is no time for them.
void look_further(Evaluator& evaluator, const Gaussian& q, const SmoothedWeights& weights,
                  const AssessmentOptions& options, Assessment& out) {
  if (out.ending.claims_optimum && options.probe_tails) assess_tails(evaluator, q, out);
  if (options.quantities != nullptr) {
    assess_reweighting(reweight_quantities(evaluator, q, *options.quantities, options.seed), true, out);
  } else if (weights.khat <= kDoubtfulKhat && weights.effective >= kReweightingDraws) {
    const auto moved = most_reweighted(evaluator.model(), q, options.seed + 1,
                                       exponentials(weights.log_weights), evaluator.workers());
    assess_reweighting(moved, q.is_dense(), out);
  }
}

}  // namespace

Assessment assess(Evaluator& evaluator, const Gaussian& q, FitEnding ending,
                  const AssessmentOptions& options) {
  Control* control = evaluator.control();
  const bool hurry = control != nullptr && control->begin_assessment(kHurriedSeconds);
  Assessment out;
  out.ending = std::move(ending);
  const Index draws = hurry ? std::min(options.draws, kHurriedDraws) : options.draws;
  const ElboEstimate estimate =
      options.estimate ? *options.estimate : estimate_elbo(evaluator, q, draws, options.seed + 1);
  const bool measurable = std::isfinite(estimate.elbo);
  const SmoothedWeights weights = measurable
                                      ? smooth_weights(estimate.log_weights)
                                      : SmoothedWeights{Vector(), std::numeric_limits<double>::infinity(), 0};
  out.elbo = estimate.elbo;
  out.elbo_se = estimate.se;
  out.khat = weights.khat;
  try {
    if (!hurry) look_further(evaluator, q, weights, options, out);
  } catch (const Stopped&) {  // the verdict is that on a fit that was stopped early
  }
  const bool had_time =
      out.ending.stopped == StopReason::kConverged || out.ending.stopped == StopReason::kIterationLimit;
  if (had_time && control != nullptr && control->stopped()) {
    out.ending.stopped = control->reason();
    out.ending.detail = control->detail();
  }
  assess_ending(out);
  assess_rejections(estimate, out);
  if (measurable)
    assess_weights(estimate, weights, q, out);
  else if (!hurry)
    out.distrust(WarningKind::kNotFinite, "the ELBO of the result is not finite");
  return out;
}

}  // namespace magva
