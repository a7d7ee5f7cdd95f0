#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "assess/pareto.hpp"
#include "assess/tails.hpp"
#include "fit/constants.hpp"
#include "fit/default_run.hpp"

namespace magva {

namespace {

// Whether the two put their mass in different places: some mean differs by several sds of both.
bool apart(const Gaussian& a, const Gaussian& b) {
  return ((a.mean() - b.mean()).cwiseAbs().cwiseQuotient(a.sd().cwiseMax(b.sd()))).maxCoeff() >
         constants::kModesApart;
}

}  // namespace

// A start that ended elsewhere with nearly as much mass is another mode, which one Gaussian cannot show.
void AutoRun::compare_with_rivals(const Gaussian& best, double elbo) {
  for (Refinement& rival : rivals_) {
    for (int k = 0; k < constants::kRivalIterations && rival.status() == RefinementStatus::kRunning; ++k) {
      if (!apart(rival.posterior(), best)) break;
      if (over_ && k > constants::kRaceIterations) break;
      rival.step();
    }
    const Gaussian other = rival.posterior();
    if (rival.status() == RefinementStatus::kDiverged || !apart(other, best)) continue;
    const ElboEstimate estimate = estimate_elbo(evaluator_, other, constants::kRaceDraws, options_.seed);
    if (estimate.elbo < elbo - constants::kModeNats) continue;
    Index worst = 0;
    (other.mean() - best.mean()).cwiseAbs().cwiseQuotient(best.sd().cwiseMax(other.sd())).maxCoeff(&worst);
    trusted_ = false;
    warnings_.push_back(fmt::format(
        "starts disagree: another one ends at ELBO {:.2f} (this one: {:.2f}) with {} = {:.3g} instead of "
        "{:.3g}, so that the "
        "posterior has several modes, of which this Gaussian shows one",
        estimate.elbo, elbo, model_.parameter_name(worst), other.mean()(worst), best.mean()(worst)));
    return;
  }
}

AutoResult AutoRun::judge(const Refinement& best) {
  const Gaussian q = best.posterior();
  const std::int64_t evaluations = evaluator_.evaluations();
  const std::int64_t rejected = evaluator_.rejected();
  // Whoever interrupts a fit does not want to wait, and it is not trusted anyway.
  const bool hurry = stopped_ == StopReason::kInterrupted;
  const Index draws = hurry ? std::min(options_.elbo_draws, constants::kHurriedDraws) : options_.elbo_draws;
  const ElboEstimate estimate = estimate_elbo(evaluator_, q, draws, options_.seed + 1);
  const bool measurable = std::isfinite(estimate.elbo);
  const SmoothedWeights weights = measurable
                                      ? smooth_weights(estimate.log_weights)
                                      : SmoothedWeights{Vector(), std::numeric_limits<double>::infinity(), 0};
  const double khat = weights.khat;
  if (measurable && !hurry) compare_with_rivals(q, estimate.elbo);

  const auto distrust = [&](std::string why) {
    trusted_ = false;
    warnings_.push_back(std::move(why));
  };
  if (stopped_ != StopReason::kConverged)
    distrust(fmt::format("the fit has not converged ({}): {}", words(stopped_), evidence_));
  const TailReport tails = hurry ? TailReport{} : probe_tails(evaluator_, q);
  if (tails.kind == TailKind::kImproper)
    distrust(fmt::format(
        "the log density does not fall along {}: the posterior is improper, as with perfectly separated "
        "data and flat priors; give the parameters proper priors",
        tails.where));
  else if (tails.kind == TailKind::kHeavy)
    distrust(fmt::format(
        "the log density falls only like a logarithm along {}: the posterior has heavy tails, which no "
        "Gaussian has",
        tails.where));
  const double share = static_cast<double>(estimate.rejected) / static_cast<double>(draws);
  if (share > constants::kRejectedWarning)
    warnings_.push_back(fmt::format("the log density was not finite at {:.1f} % of the draws", 100 * share));
  if (share > constants::kRejectedPoor) trusted_ = false;
  // k-hat does not see how large the weights' spread is: where it is small, heavy tails are of no
  // consequence.
  const double spread = estimate.se * std::sqrt(static_cast<double>(draws));
  const bool far = q.is_dense() && spread > constants::kCloseSpread;
  if (khat > constants::kPoorKhat && far)
    distrust(fmt::format("k-hat is {:.2f}, {}", khat, khat_words(khat)));
  else if (-std::log(weights.effective / static_cast<double>(draws)) >
               std::max(constants::kLostNats, constants::kLostShare * static_cast<double>(q.dimension())) &&
           far)
    distrust(
        fmt::format("{} draws of the Gaussian are worth {:.0f} of the posterior (k-hat {:.2f}): it is not "
                    "close to a Gaussian",
                    draws, weights.effective, khat));
  else if (khat > constants::kDoubtfulKhat)
    warnings_.push_back(fmt::format("k-hat is {:.2f}, {}", khat, khat_words(khat)));
  return {q,         stopped_,   evidence_, estimate.elbo,     estimate.se, khat,     trusted_,
          warnings_, rank_path_, reports_,  best.iterations(), evaluations, rejected, seconds()};
}

}  // namespace magva
