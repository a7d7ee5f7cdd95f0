#include "assess/assess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "assess/doubts.hpp"
#include "assess/heavy_tails.hpp"
#include "assess/named_marginals.hpp"
#include "assess/other_modes.hpp"
#include "assess/pareto.hpp"
#include "assess/second_order.hpp"
#include "assess/tails.hpp"
#include "assess/weight_test.hpp"
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
/// k-hat counts where weights leave less than half of the draws effective: else it is that of a tail that
/// hardly matters.
constexpr double kTellingLoss = .7;
/// In many dimensions small differences add up, too: a Gaussian whose every coordinate is .005 nats off, its
/// mean by .1 sds or its sd by 7 %, has log weights with this sd for every square root of a parameter.
constexpr double kNearSpread = .1;
/// Log weights of the best Gaussian of any rank have an sd below m / sqrt(2) if the posterior is Gaussian:
/// its precision, in units of the Gaussian's sds, has the trace m. A fit whose log weights vary by more nats
/// than these, and these a parameter, is nowhere near the posterior.
constexpr double kHopelessSpread = 100;
constexpr double kHopelessShare = 10;
/// Linear response that changes no sd by more, by its logarithm, has found the posterior near a Gaussian in
/// all its marginals, whatever weights in many dimensions do.
constexpr double kSmallResponse = .15;

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

void assess_rejections(const ElboEstimate& estimate, Assessment& out) {
  const auto draws = static_cast<double>(std::max<Index>(1, estimate.log_weights.size()));
  const double share = static_cast<double>(estimate.rejected) / draws;
  if (share <= kRejectedWarning) return;
  out.warn(WarningKind::kRejectedDraws,
           fmt::format("the log density was not finite at {:.1f} % of the draws", 100 * share));
  if (share > kRejectedPoor) out.trusted = false;
}

/// Half the width of the middle two thirds: a few draws where the log density falls off a cliff do not count.
double bulk_spread(const Vector& log_weights) {
  std::vector<double> finite;
  for (const double w : log_weights)
    if (std::isfinite(w)) finite.push_back(w);
  if (finite.empty()) return 0;
  const auto at = [&](double share) {
    const auto place =
        finite.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(finite.size()));
    std::nth_element(finite.begin(), place, finite.end());
    return *place;
  };
  const double lower = at(.16);
  return .5 * (at(.84) - lower);
}

// Importance weights say something where they vary, and nothing about tails where they do not: there k-hat
// is that of nearly equal numbers. Only a full-rank Gaussian claims to be close to the posterior; others are
// known to be narrower. `understood`: the marginals in doubt explain why the weights vary.
void assess_weights(const ElboEstimate& estimate, const SmoothedWeights& weights, const Gaussian& q,
                    bool understood, Assessment& out) {
  const auto draws = static_cast<double>(estimate.log_weights.size());
  const double bulk = bulk_spread(estimate.log_weights);
  if (bulk > kHopelessSpread + kHopelessShare * static_cast<double>(q.dimension()))
    return out.distrust(
        WarningKind::kFarFromGaussian,
        fmt::format("the log density varies by {:.3g} nats more than the approximation's where that has its "
                    "mass: it is nowhere near the posterior; fit longer, or with the default",
                    bulk));
  const double spread = estimate.se * std::sqrt(draws);
  if (!(spread > kCloseSpread) || understood) return;
  const bool far = out.ending.claims_optimum && (q.is_full_rank() || q.is_spiked()) &&
                   spread > kNearSpread * std::sqrt(static_cast<double>(q.dimension()));
  const double lost = -std::log(weights.effective / draws);
  const std::string khat = fmt::format("k-hat is {:.2f}, {}", weights.khat, describe_khat(weights.khat));
  if (weights.khat > kPoorKhat && far && lost > kTellingLoss)
    out.distrust(WarningKind::kKhat, khat);
  else if (far && lost > std::max(kLostNats, kLostShare * static_cast<double>(q.dimension())))
    out.distrust(
        WarningKind::kFarFromGaussian,
        fmt::format("{:.0f} draws of the approximation are worth {:.0f} of the posterior (k-hat {:.2f}): "
                    "the two are not close",
                    draws, weights.effective, weights.khat));
  else if (weights.khat > kDoubtfulKhat && weights.effective < kReweightingDraws)
    out.warn(WarningKind::kKhat, khat);
}

/// Heavy tails matter where they change a mean or an sd, or may do so for all that is known. True where it is
/// known.
bool assess_heavy_tails(Evaluator& evaluator, const Gaussian& reported, const std::string& where,
                        std::uint64_t seed, Assessment& out) {
  const std::string heavy = fmt::format("the log density falls only like a logarithm along {}", where);
  const auto errors = heavy_tailed_errors(evaluator, reported, seed);
  if (!errors) {
    out.distrust(WarningKind::kHeavyTails,
                 heavy + ": the posterior has heavy tails, which the approximation has not");
    return false;
  }
  std::vector<Doubt> found;
  for (const MarginalError& error : *errors)
    if (in_doubt(error))
      found.push_back({evaluator.model().parameter_name(error.coordinate), error.shift, error.sd_ratio});
  if (found.empty()) return true;
  out.distrust(WarningKind::kHeavyTails,
               fmt::format("{}: the posterior has heavy tails, which the approximation misses, in {}", heavy,
                           describe(found)));
  for (Doubt& doubt : found) add_doubt(std::move(doubt), out);
  return true;
}

/// True where there are heavy tails, and what they come to is known.
bool assess_tails(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed, Assessment& out) {
  const TailReport tails = probe_tails(evaluator, q);
  if (tails.kind == TailKind::kImproper)
    out.distrust(WarningKind::kImproper,
                 fmt::format("the log density does not fall along {}: the posterior is improper, as with "
                             "perfectly separated data and flat priors; give the parameters proper priors",
                             tails.where));
  if (tails.kind != TailKind::kHeavy) return false;
  return assess_heavy_tails(evaluator, out.correction_holds ? q.corrected() : q, tails.where, seed, out);
}

/// A mode elsewhere, and what its mass does to means and sds.
void assess_other_modes(Evaluator& evaluator, const Gaussian& reported, std::uint64_t seed, Assessment& out) {
  const auto other = find_other_mode(evaluator, reported, seed);
  if (!other) return;
  const Vector apart = (other->theta - reported.mean()).cwiseQuotient(reported.sd());
  Index worst = 0;
  apart.cwiseAbs().maxCoeff(&worst);
  const double p = other->share;
  const double ratio = std::sqrt(1 + p * (1 - p) * apart(worst) * apart(worst));
  const MarginalError error{worst, p * apart(worst), ratio, 1};
  if (!in_doubt(error)) return;
  const std::string name = evaluator.model().parameter_name(worst);
  add_doubt({name, error.shift, error.sd_ratio}, out);
  out.distrust(
      WarningKind::kSeveralModes,
      fmt::format("there is another mode at {} = {:.3g}, {:.1f} sds away, with about {:.2g} of the mass: the "
                  "posterior has several modes, of which the approximation shows one",
                  name, other->theta(worst), std::abs(apart(worst)), p));
}

/// What takes further evaluations, and is left out where there is no time for them. True where the
/// posterior's difference from the fitted Gaussian is understood.
bool look_further(Evaluator& evaluator, const Gaussian& q, const SmoothedWeights& weights,
                  const AssessmentOptions& options, Assessment& out) {
  bool understood = options.probe_marginals && assess_marginals(evaluator, q, weights, options, out);
  if (out.ending.claims_optimum && options.probe_tails)
    understood = assess_tails(evaluator, q, options.seed + 4, out) || understood;
  const Gaussian& reported = out.correction_holds ? q.corrected() : q;
  if (out.ending.claims_optimum && options.probe_tails && reported.is_dense())
    assess_other_modes(evaluator, reported, options.seed + 5, out);
  if (out.ending.claims_optimum) assess_second_order(evaluator, reported, options.seed + 9, out);
  assess_weighted_moments(evaluator, q, weights, options, out);
  return understood || (out.correction_holds && options.response < kSmallResponse);
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
      options.estimate ? *options.estimate : estimate_elbo(evaluator, q.corrected(), draws, options.seed + 1);
  const bool measurable = std::isfinite(estimate.elbo);
  const SmoothedWeights weights = measurable
                                      ? smooth_weights(estimate.log_weights)
                                      : SmoothedWeights{Vector(), std::numeric_limits<double>::infinity(), 0};
  out.elbo = estimate.elbo;
  out.elbo_se = estimate.se;
  out.khat = weights.khat;
  bool understood = false;
  try {
    if (!hurry) understood = look_further(evaluator, q, weights, options, out);
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
    assess_weights(estimate, weights, q.corrected(), understood, out);
  else if (!hurry)
    out.distrust(WarningKind::kNotFinite, "the ELBO of the result is not finite");
  return out;
}

Assessment assess_correction(Evaluator& evaluator, Gaussian& q, const FitEnding& ending,
                             AssessmentOptions options) {
  Assessment out = assess(evaluator, q, ending, options);
  if (out.correction_holds) return out;
  q = q.without_correction();
  options.estimate.reset();
  return assess(evaluator, q, ending, options);
}

}  // namespace magva
