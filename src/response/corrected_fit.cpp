#include "response/corrected_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/elbo.hpp"
#include "response/full_rank_steps.hpp"
#include "response/paired_response.hpp"
#include "response/response_probe.hpp"
#include "response/sampled_response.hpp"

namespace magva {

namespace {

/// Multiplications, at most: about a second.
constexpr double kMostResponseWork = 6e9;
/// Pairs of draws: at least as many as parameters, so that third derivatives are integrated exactly, and so
/// many; at most so many, and so many a parameter.
constexpr Index kFewestHessianPairs = 16;
constexpr Index kMostHessianPairs = 256;
constexpr Index kHessianPairsPerParameter = 2;
/// A first sample has so many, or two a parameter; a second one as many as the first shows to be needed for
/// this standard error of a log sd.
constexpr Index kFirstHessianPairs = 16;
constexpr double kSmallResponseError = .005;
/// Of a response by gradients alone: where the first sample leaves more, a second one has as many pairs as
/// this takes. Noise of the covariance spoils the weights of its draws, too.
constexpr double kSmallPairedError = .025;
/// Samples of gradients on the way to the best full-rank Gaussian, at most.
constexpr int kMostStepSamples = 8;
/// A correction takes as many gradients as the fit has taken, at most, or so many a parameter, if these are
/// no more than twice as many.
constexpr std::int64_t kGradientsPerParameter = 50;
/// What the covariance's answer takes off the mean's precision, along any direction. If no more than the
/// first, its leading order has it to .003 or so of an sd; beyond the second an sd is twice the Gaussian's,
/// and all of this is too rough.
constexpr double kSmallTaken = .15;
constexpr double kMostTaken = .75;
/// A response is that of the best Gaussian, and not of another one, if none is further off than this.
constexpr double kMostExcess = .5;
/// Sds whose standard errors are looked at: those that change most.
constexpr Index kCheckedSds = 16;
/// A correction counts if it is so many standard errors, and these are small: .05 of an sd.
constexpr double kSignificant = 3;
constexpr double kMostError = .05;
/// A second sample is drawn if, by the first, its standard errors may be as small as that. A standard error
/// from few Hessians may itself be off by this factor.
constexpr double kErrorOfError = 2;
/// Draws for an ELBO and k-hat: these, and all that the options have if the log weights' sd is not small.
constexpr Index kFirstEstimateDraws = 1000;
constexpr double kNearlyEqualSpread = .25;
/// Draws of both Gaussians by which they are compared, and how many must be effective to tell.
constexpr Index kComparisonDraws = 500;
constexpr double kFewestTelling = 50;

/// Apart from those of the steps before it.
std::uint64_t response_seed(std::uint64_t seed) { return seed + (std::uint64_t{kMostStepSamples} << 40U); }

double largest_eigenvalue(const Matrix& symmetric) {
  return symmetric.selfadjointView<Eigen::Lower>().eigenvalues().cwiseAbs().maxCoeff();
}

RootedGaussian rooted(const Gaussian& q) {
  if (q.is_dense()) return {q.mean(), q.factors()};
  const Index m = q.dimension();
  const Matrix covariance = q.times(Matrix::Identity(m, m));
  return {q.mean(), Matrix(covariance.llt().matrixL())};
}

std::int64_t step_cost(Index m) { return 2 * step_pairs(m); }

/// Of a fit of low rank by Newton steps.
std::optional<RootedGaussian> best_full_rank(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed) {
  if (q.is_dense()) return rooted(q);
  auto found = go_on_to_full_rank(evaluator, rooted(q), kMostStepSamples, seed);
  if (!found) return std::nullopt;
  found->at.mean += found->at.root * found->sample.gradient;
  return std::move(found->at);
}

/// 0 where so many gradients are too few, or where the response would take too long.
Index affordable_pairs(const Gaussian& q, std::int64_t gradients) {
  const Index m = q.dimension();
  const std::int64_t left = gradients - (q.is_dense() ? 0 : kMostStepSamples * step_cost(m));
  const Index pairs =
      std::min<Index>(left / sample_cost(m, 1), std::max(kMostHessianPairs, kHessianPairsPerParameter * m));
  const Index fewest = std::max(kFewestHessianPairs, m);
  if (pairs < fewest || sampled_response_work(m, fewest) > kMostResponseWork) return 0;
  const auto most = static_cast<Index>(kMostResponseWork / sampled_response_work(m, 1));
  return std::min(pairs, most);
}

/// Of the logarithms of the sds that change most, the largest.
template <class Sample, class Response>
double largest_se(const Sample& sample, const Response& response, const Matrix& root, const Vector& change) {
  std::vector<Index> order(static_cast<std::size_t>(change.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return std::abs(change(a)) > std::abs(change(b)); });
  order.resize(static_cast<std::size_t>(std::min(kCheckedSds, change.size())));
  double largest = 0;
  for (const Index i : order) {
    const Vector tilt = root.row(i);
    const double variance = tilt.dot(response.covariance * tilt);
    largest = std::max(largest, .5 * response_se(sample, response, tilt) / variance);
  }
  return largest;
}

/// A Gaussian with the response's covariance, and what it changes.
template <class Sample, class Response>
std::optional<SampledCorrection> correction(const Gaussian& q, const Vector& mean, const Matrix& root,
                                            const Sample& sample, const Response& response) {
  const Matrix covariance = root * response.covariance * root.transpose();
  const Eigen::LLT<Matrix> factor(.5 * (covariance + covariance.transpose()));
  if (factor.info() != Eigen::Success) return std::nullopt;
  const Vector log_sd = .5 * covariance.diagonal().array().log();
  const Vector change = log_sd.array() - q.sd().array().log();
  const Vector of_best = log_sd.array() - root.rowwise().norm().array().log();
  return SampledCorrection{Gaussian::dense(mean, factor.matrixL()), change.cwiseAbs().maxCoeff(),
                           largest_se(sample, response, root, change), of_best.cwiseAbs().maxCoeff()};
}

std::optional<SampledCorrection> correct_by_sample(Evaluator& evaluator, const Gaussian& q,
                                                   const RootedGaussian& best, Index pairs,
                                                   std::uint64_t seed) {
  const auto sample = sample_hessians(evaluator, best, pairs, response_seed(seed));
  if (!sample || largest_eigenvalue(sample->mean) > kMostExcess) return std::nullopt;
  const auto response = linear_response(*sample);
  if (!response) return std::nullopt;
  return correction(q, best.mean, best.root, *sample, *response);
}

/// Whether so many times the pairs leave a correction that may count.
bool may_count(const SampledCorrection& found, double times_the_pairs) {
  return found.se < kErrorOfError * kMostError * std::sqrt(times_the_pairs);
}

/// With `most` pairs at most: as many as it takes.
std::optional<SampledCorrection> correct_by_hessians(Evaluator& evaluator, const Gaussian& q, Index most,
                                                     std::uint64_t seed) {
  const auto best = best_full_rank(evaluator, q, seed);
  if (!best) return std::nullopt;
  const Index first = std::min(most, std::max(kFirstHessianPairs, 2 * q.dimension()));
  auto found = correct_by_sample(evaluator, q, *best, first, seed);
  if (first == most || (found && found->se < kSmallResponseError)) return found;
  if (found && !may_count(*found, static_cast<double>(most) / static_cast<double>(first)))
    return std::nullopt;
  const double short_by = found ? std::pow(found->se / kSmallResponseError, 2) : HUGE_VAL;
  const auto needed = static_cast<Index>(
      std::min(static_cast<double>(most), std::ceil(short_by * static_cast<double>(first))));
  return correct_by_sample(evaluator, q, *best, needed, seed);
}

/// What a sample of gradients gives of the response.
struct ResponseOrder {
  bool whole;                            ///< else with the covariance held fixed
  std::optional<TakenPrecision> probed;  ///< where its leading order is not enough
};

/// With so many gradients for the whole response along one direction. Nothing where these are too few, or
/// where the response is too large.
std::optional<ResponseOrder> whole_response(Evaluator& evaluator, const FullRankOptimum& best,
                                            std::int64_t gradients, std::uint64_t seed) {
  const LargestTaken largest = largest_taken(best.sample);
  if (largest.value <= kSmallTaken) return ResponseOrder{true, std::nullopt};
  if (gradients < probe_cost(best.sample.dimension())) return std::nullopt;
  const auto taken = probe_response(evaluator, best.at, best.sample.shrunk_excess(), largest.direction, seed);
  if (!taken || !(taken->whole > 0) || taken->whole > kMostTaken) return std::nullopt;
  return ResponseOrder{true, taken};
}

std::optional<PairedResponse> response_of(const GradientSample& sample, const ResponseOrder& order) {
  if (!order.whole) return fixed_response(sample);
  return order.probed ? paired_response(sample, *order.probed) : paired_response(sample, 1, 0);
}

std::optional<SampledCorrection> correct_by_sample(const Gaussian& q, const FullRankOptimum& best,
                                                   const ResponseOrder& order) {
  const auto response = response_of(best.sample, order);
  if (!response) return std::nullopt;
  Vector mean = best.at.mean;
  if (!q.is_dense()) mean += best.at.root * (response->covariance * best.sample.gradient);
  auto out = correction(q, mean, best.at.root, best.sample, *response);
  if (out && !order.whole) out->response = std::numeric_limits<double>::quiet_NaN();
  return out;
}

/// For a standard error that is small enough, with so many gradients at most.
Index more_pairs(const SampledCorrection& found, Index pairs, std::int64_t gradients) {
  const double wanted = std::pow(found.se / kSmallPairedError, 2) * static_cast<double>(pairs);
  return static_cast<Index>(std::min(std::ceil(wanted), .5 * static_cast<double>(gradients)));
}

/// A fit of low rank has at least the sds of the best full-rank Gaussian.
std::optional<SampledCorrection> correct_by_gradients(Evaluator& evaluator, const Gaussian& q,
                                                      std::int64_t gradients, std::uint64_t seed) {
  const std::int64_t before = evaluator.evaluations();
  const auto left = [&] { return gradients - (evaluator.evaluations() - before); };
  const auto samples =
      static_cast<int>(std::min<std::int64_t>(kMostStepSamples, gradients / step_cost(q.dimension())));
  auto best = go_on_to_full_rank(evaluator, rooted(q), samples, seed);
  if (!best) return std::nullopt;
  auto order = whole_response(evaluator, *best, left(), response_seed(seed));
  if (!order && !q.is_dense()) order = ResponseOrder{false, std::nullopt};
  if (!order) return std::nullopt;
  auto found = correct_by_sample(q, *best, *order);
  if (!found) return std::nullopt;
  const Index pairs = more_pairs(*found, best->sample.pairs(), left());
  if (pairs <= best->sample.pairs()) return found;
  auto more = sample_gradients(evaluator, best->at, pairs, response_seed(seed) + 1);
  if (!more) return found;
  best->sample = std::move(*more);
  return correct_by_sample(q, *best, *order);
}

std::optional<SampledCorrection> significant_correction(Evaluator& evaluator, const Gaussian& q,
                                                        const FitEnding& ending, std::int64_t gradients,
                                                        std::uint64_t seed) {
  if (ending.stopped != StopReason::kConverged) return std::nullopt;
  const std::int64_t most = std::clamp(kGradientsPerParameter * q.dimension(), gradients, 2 * gradients);
  auto found = correct_by_response(evaluator, q, most, seed);
  if (!found || !(found->change > kSignificant * found->se) || !(found->se < kMostError)) return std::nullopt;
  if (!no_further(evaluator, q, found->corrected, seed)) return std::nullopt;
  return found;
}

}  // namespace

std::optional<SampledCorrection> correct_by_response(Evaluator& evaluator, const Gaussian& q,
                                                     std::int64_t gradients, std::uint64_t seed) {
  if (q.is_sparse() || q.dimension() > kMostResponseDimension) return std::nullopt;
  if (const Index pairs = affordable_pairs(q, gradients))
    return correct_by_hessians(evaluator, q, pairs, seed);
  return correct_by_gradients(evaluator, q, gradients, seed);
}

// KL(p || q) - KL(p || corrected) = E_p[log corrected - log q], with draws of both as one proposal.
bool no_further(Evaluator& evaluator, const Gaussian& q, const Gaussian& corrected, std::uint64_t seed) {
  Matrix theta(q.dimension(), 2 * kComparisonDraws);
  theta.leftCols(kComparisonDraws) = elbo_draws(q, seed, 0, kComparisonDraws, evaluator.workers());
  theta.rightCols(kComparisonDraws) =
      elbo_draws(corrected, seed, kComparisonDraws, kComparisonDraws, evaluator.workers());
  const Vector log_density = evaluator.evaluate_values(theta);
  const Vector before = q.log_density(theta);
  const Vector gain = corrected.log_density(theta) - before;
  const Vector log_weights = log_density - before - (.5 * (1 + gain.array().exp())).log().matrix();
  if (!log_weights.array().isFinite().any()) return false;
  const SmoothedWeights weights = smooth_weights(log_weights);
  if (weights.effective < kFewestTelling) return true;
  const Vector share = weights.log_weights.array().exp();
  const double mean = share.dot(gain);
  const double se = std::sqrt(share.cwiseAbs2().dot((gain.array() - mean).square().matrix()));
  return mean > -2 * se;
}

namespace {

ElboEstimate sufficient_estimate(Evaluator& evaluator, const Gaussian& q, const AssessmentOptions& options) {
  const std::uint64_t seed = options.seed + 1;
  ElboEstimate out = estimate_elbo(evaluator, q, std::min(options.draws, kFirstEstimateDraws), seed);
  if (!(out.se * std::sqrt(static_cast<double>(out.log_weights.size())) < kNearlyEqualSpread))
    extend_estimate(evaluator, q, options.draws, seed, out);
  return out;
}

}  // namespace

AssessedGaussian assess_with_response(Evaluator& evaluator, const Gaussian& q, const FitEnding& ending,
                                      AssessmentOptions options, std::int64_t gradients) {
  std::optional<ElboEstimate> fitted;
  Gaussian posterior = q;
  double sd_se = 0;
  Control* control = evaluator.control();
  if (control != nullptr) control->enter(Phase::kAssessment);
  try {
    if (const auto found = significant_correction(evaluator, q, ending, gradients, options.seed + 3)) {
      fitted = sufficient_estimate(evaluator, q, options);
      posterior = q.with_correction(found->corrected);
      sd_se = found->se;
      options.response = found->response;
    }
    if (ending.stopped == StopReason::kConverged) {
      ElboEstimate reported = sufficient_estimate(evaluator, posterior.corrected(), options);
      if (control == nullptr || !control->stopped()) options.estimate = std::move(reported);
    }
  } catch (const Stopped&) {  // assess() says what that means
  }
  Assessment assessment = assess_correction(evaluator, posterior, ending, options);
  if (posterior.has_correction() && fitted) {
    assessment.elbo = fitted->elbo;
    assessment.elbo_se = fitted->se;
  }
  if (!posterior.has_correction()) sd_se = 0;
  return {std::move(posterior), std::move(assessment), sd_se};
}

}  // namespace magva
