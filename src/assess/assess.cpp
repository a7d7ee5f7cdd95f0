#include "assess/assess.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "assess/heavy_tails.hpp"
#include "assess/marginals.hpp"
#include "assess/near_marginals.hpp"
#include "assess/other_modes.hpp"
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
/// k-hat counts where weights leave less than half of the draws effective: else it is that of a tail that
/// hardly matters.
constexpr double kTellingLoss = .7;
/// A fit whose log weights have a smaller sd is close, whatever their tail: its KL divergence, about half the
/// square, is then below an eighth of a nat.
constexpr double kCloseSpread = .5;
/// In many dimensions small differences add up, too: a Gaussian whose every coordinate is .005 nats off, its
/// mean by .1 sds or its sd by 7 %, has log weights with this sd for every square root of a parameter.
constexpr double kNearSpread = .1;
/// Beyond this, an sd twice too small, a fit is of no use.
constexpr double kUseless = .69;
/// Log weights of the best Gaussian of any rank have an sd below m / sqrt(2) if the posterior is Gaussian:
/// its precision, in units of the Gaussian's sds, has the trace m. A fit whose log weights vary by more nats
/// than these, and these a parameter, is nowhere near the posterior.
constexpr double kHopelessSpread = 100;
constexpr double kHopelessShare = 10;
/// Linear response that changes no sd by more, by its logarithm, has found the posterior near a Gaussian in
/// all its marginals, whatever weights in many dimensions do.
constexpr double kSmallResponse = .15;
/// Parameters that a warning names, at most.
constexpr std::size_t kNamed = 3;
/// Coordinates are reweighted where so many draws are effective: the sd of the log of an sd is then .035, and
/// several times that for the worst of many.
constexpr double kReweightingDraws = 400;
/// Where k-hat says that weights miss a part of a tail, they say too little of it: what they change by more
/// than this, beyond their own error, is in doubt. Fewer effective draws say nothing.
constexpr double kRoughDoubt = .1;
constexpr double kFewestRoughDraws = 100;
/// What to do about a parameter in doubt: where importance weights can correct the draws, and where not.
constexpr const char* kCorrect =
    "importance weights can correct this (--correct), or sample this model by MCMC";
constexpr const char* kSample = "sample this model by MCMC";
/// Draws at which quantities are looked at, where they take less than this share of the fit's gradients; at
/// least these, and most numbers of them. A few thousand draws say little of the sd of a quantity with a long
/// tail, such as a scale that may be large.
constexpr Index kMostQuantityDraws = 20'000;
constexpr Index kUsualQuantityDraws = 4000;
constexpr Index kFewestQuantityDraws = 400;
constexpr double kQuantityShare = .3;
constexpr Index kMostQuantityNumbers = 20'000'000;
/// Samples of marginals, at most, by which quantities are looked at, too.
constexpr std::size_t kMostQuantitySamples = 4;
/// An error of a marginal counts if it is beyond so many standard errors.
constexpr double kMarginalErrors = 2;

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

/// Of one parameter; false where it is named already.
bool add_doubt(Doubt doubt, Assessment& out) {
  if (std::any_of(out.doubts.begin(), out.doubts.end(),
                  [&](const Doubt& other) { return other.parameter == doubt.parameter; }))
    return false;
  out.doubts.push_back(std::move(doubt));
  return true;
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

Vector exponentials(const Vector& log_weights) { return log_weights.array().exp(); }

Index quantity_draws(const Evaluator& evaluator, Index quantities) {
  const Control* control = evaluator.control();
  const auto fit = static_cast<double>(control == nullptr ? 0 : control->evaluations());
  const Index affordable =
      std::clamp(static_cast<Index>(kQuantityShare * fit), kUsualQuantityDraws, kMostQuantityDraws);
  return std::clamp(kMostQuantityNumbers / std::max<Index>(1, quantities), kFewestQuantityDraws, affordable);
}

std::string describe(const Doubt& doubt) {
  const double ratio = doubt.sd_ratio;
  std::string sd;
  if (std::abs(std::log(ratio)) > kDoubt / 2)
    sd = fmt::format("its sd is {:.2g} times that of the approximation", ratio);
  std::string mean;
  if (std::abs(doubt.shift) > kDoubt / 2 || sd.empty())
    mean =
        fmt::format("its mean is {:.2g} sds {}", std::abs(doubt.shift), doubt.shift > 0 ? "higher" : "lower");
  return fmt::format("{} ({})", doubt.parameter,
                     fmt::join(std::vector<std::string>{sd, mean}, sd.empty() || mean.empty() ? "" : ", "));
}

std::string describe(const std::vector<Doubt>& doubts) {
  std::vector<std::string> named;
  for (std::size_t k = 0; k < std::min(kNamed, doubts.size()); ++k) named.push_back(describe(doubts[k]));
  std::string out = fmt::format("{}", fmt::join(named, "; "));
  if (doubts.size() > kNamed) out += fmt::format("; and {} more parameters", doubts.size() - kNamed);
  return out;
}

/// The line alone says too much about means, and about sds unless there is a long tail. What may be noise is
/// none.
bool in_doubt(const MarginalError& error) {
  return error.effective_draws > 0 ? error.size() - kMarginalErrors * error.se > kDoubt
                                   : std::log(error.sd_ratio) > kUseless;
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

/// Of the parameters in doubt.
double largest_error(const std::vector<MarginalError>& errors) {
  double largest = 0;
  for (const MarginalError& error : errors)
    if (in_doubt(error)) largest = std::max(largest, error.size());
  return largest;
}

/// Of the correction, if there is one. A correction that is no better than what it corrects is dropped; but
/// that of a low-rank Gaussian is a full-rank one, which is better whatever single lines say.
MarginalReport marginal_errors(Evaluator& evaluator, const Gaussian& q, const SmoothedWeights& weights,
                               const AssessmentOptions& options, Assessment& out) {
  const double spread = out.elbo_se * std::sqrt(static_cast<double>(weights.log_weights.size()));
  const std::uint64_t seed = options.seed + 2;
  const auto check = [&](const Gaussian& at, const std::vector<bool>& without) {
    MarginalReport report = check_marginals(evaluator, at, seed, without);
    if (spread > kCloseSpread) check_other_marginals(evaluator, at, seed, without, report);
    return report;
  };
  std::vector<bool> near;
  if (options.log_concave)
    near = near_marginals(q.corrected(), options.seed + 1, weights, kDoubt, evaluator.workers());
  MarginalReport report = check(q.corrected(), near);
  const double largest = largest_error(report.errors);
  if (!q.has_correction() || largest == 0 || !q.is_dense()) return report;
  MarginalReport fitted = check(q, {});
  out.correction_holds = largest <= largest_error(fitted.errors);
  return out.correction_holds ? report : fitted;
}

/// A parameter or a quantity that is not what the approximation says.
struct NamedError {
  std::string name;
  MarginalError error;
};

/// By the sample that is surest of each.
std::vector<NamedError> quantity_errors(const Gaussian& reported, const Quantities& quantities,
                                        const std::vector<PosteriorSample>& samples, std::uint64_t seed) {
  const Matrix own = quantities.at(reported.draws(kUsualQuantityDraws, seed));
  const Vector mean = own.rowwise().mean();
  const Vector sd =
      (own.colwise() - mean).rowwise().squaredNorm().cwiseSqrt() / std::sqrt(static_cast<double>(own.cols()));
  std::vector<NamedError> out;
  for (const std::string& name : quantities.names) out.push_back({name, {0, 0, 1, 1, HUGE_VAL}});
  for (std::size_t k = 0; k < std::min(kMostQuantitySamples, samples.size()); ++k) {
    const SampleMoments found = moments_of(quantities.at(samples[k].theta), samples[k]);
    for (Index i = 0; i < found.mean.size(); ++i) {
      const double ratio = found.sd(i) / sd(i);
      const double se = std::max(found.mean_se(i) / std::max(sd(i), found.sd(i)), found.log_sd_se(i));
      MarginalError& best = out[static_cast<std::size_t>(i)].error;
      if (std::isfinite(ratio) && ratio > 0 && se < best.se)
        best = {i, (found.mean(i) - mean(i)) / sd(i), ratio, 1 / samples[k].weights.squaredNorm(), se};
    }
  }
  return out;
}

/// Of what will be read: the coordinates, or quantities where samples can tell; of the coordinates then only
/// those of which no sample tells.
std::vector<NamedError> errors_in_doubt(const Model& model, const Gaussian& reported,
                                        const MarginalReport& report, const AssessmentOptions& options) {
  const bool by_quantities = options.quantities != nullptr && !report.samples.empty();
  std::vector<NamedError> all;
  if (by_quantities) all = quantity_errors(reported, *options.quantities, report.samples, options.seed);
  for (const MarginalError& error : report.errors)
    if (!by_quantities || error.effective_draws == 0)
      all.push_back({model.parameter_name(error.coordinate), error});
  std::erase_if(all, [](const NamedError& each) { return !in_doubt(each.error); });
  std::stable_sort(all.begin(), all.end(),
                   [](const NamedError& a, const NamedError& b) { return a.error.size() > b.error.size(); });
  return all;
}

/// Whether importance weights of the Gaussian's own draws have found these errors, too: then they can correct
/// the draws. Where the draws do not go, no weights do.
bool weights_correct(const std::vector<MarginalError>& errors, const Gaussian& reported,
                     const WeightedMoments& moments) {
  const Vector sd = reported.sd();
  return std::all_of(errors.begin(), errors.end(), [&](const MarginalError& error) {
    const Index i = error.coordinate;
    const double mean = reported.mean()(i) + error.shift * sd(i);
    const MarginalError left{i, (mean - moments.mean(i)) / moments.sd(i),
                             error.sd_ratio * sd(i) / moments.sd(i), error.effective_draws};
    return left.size() <= kDoubt;
  });
}

bool telling(const SmoothedWeights& weights) {
  return weights.khat <= kDoubtfulKhat && weights.effective >= kReweightingDraws;
}

/// Marginals that are not the Gaussian's, by name. True where the posterior is understood: all marginals are
/// known, or an importance sample along one that differs has found its way.
bool assess_marginals(Evaluator& evaluator, const Gaussian& q, const SmoothedWeights& weights,
                      const AssessmentOptions& options, Assessment& out) {
  MarginalReport report = marginal_errors(evaluator, q, weights, options, out);
  const Gaussian& reported = out.correction_holds ? q.corrected() : q;
  const std::vector<NamedError> errors = errors_in_doubt(evaluator.model(), reported, report, options);
  if (errors.empty()) return report.all_known;
  bool understood = report.all_known;
  double worst = 0;
  for (const auto& [name, error] : errors) {
    const bool sampled = error.effective_draws > 0;
    understood = understood || sampled;
    if (sampled) worst = std::max(worst, error.size());
    // Where no sample found its way the line alone is known, whose mean may be many sds off.
    out.doubts.push_back({name, sampled ? error.shift : 0, error.sd_ratio});
  }
  std::erase_if(report.errors, [](const MarginalError& error) { return !in_doubt(error); });
  const bool correctable =
      telling(weights) && out.correction_holds && !report.errors.empty() &&
      weights_correct(report.errors, q.corrected(),
                      weighted_moments(q.corrected(), options.seed + 1, exponentials(weights.log_weights),
                                       evaluator.workers()));
  out.warn(WarningKind::kReweighted, fmt::format("the approximation misses a part of the posterior of {}: {}",
                                                 describe(out.doubts), correctable ? kCorrect : kSample));
  if (worst > kUseless && out.ending.claims_optimum) out.trusted = false;
  return understood;
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
  if (telling(weights)) return WeightTest{kDoubt + 3 / std::sqrt(2 * weights.effective), 0, kCorrect};
  if (!(weights.khat <= kPoorKhat) || weights.effective < kFewestRoughDraws) return std::nullopt;
  return WeightTest{kRoughDoubt, std::max(2., std::sqrt(2 * std::log(static_cast<double>(m)))), kSample};
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
  if (moved->difference(test.standard_errors) > kUseless && out.ending.claims_optimum) out.trusted = false;
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

/// What the weights of the Gaussian's draws, where they tell, make of the quantities that will be read.
void assess_weighted_moments(Evaluator& evaluator, const Gaussian& q, const SmoothedWeights& weights,
                             const AssessmentOptions& options, Assessment& out) {
  const auto test = weight_test(weights, q.dimension());
  if (!test) return;
  if (options.quantities != nullptr)
    return assess_quantities(evaluator, q.corrected(), *options.quantities, *test, options.seed, out);
  const Gaussian& reported = out.correction_holds ? q.corrected() : q;
  assess_reweighting(
      most_reweighted(evaluator.model(), q.corrected(), reported, options.seed + 1,
                      exponentials(weights.log_weights), evaluator.workers(), test->standard_errors),
      *test, out);
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
