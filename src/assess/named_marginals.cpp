#include "assess/named_marginals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "assess/doubts.hpp"
#include "assess/far_sample.hpp"
#include "assess/marginals.hpp"
#include "assess/near_marginals.hpp"
#include "assess/reweighted.hpp"
#include "assess/weight_test.hpp"

namespace magva {

namespace {

/// Draws of the approximation by which quantities are compared.
constexpr Index kOwnQuantityDraws = 4000;
/// Samples of marginals, at most, by which quantities are looked at, too.
constexpr std::size_t kMostQuantitySamples = 4;

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
    if (!options.log_concave && !report.all_known) check_far_out(evaluator, at, seed, report);
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
  const Matrix own = quantities.at(reported.draws(kOwnQuantityDraws, seed));
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

}  // namespace

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
  out.warn(WarningKind::kReweighted,
           fmt::format("the approximation misses a part of the posterior of {}: {}", describe(out.doubts),
                       correctable ? kCorrectByWeights : kSampleByMcmc));
  if (worst > kUselessDoubt && out.ending.claims_optimum) out.trusted = false;
  return understood;
}

}  // namespace magva
