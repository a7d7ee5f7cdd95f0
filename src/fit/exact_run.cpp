// The default where the model knows its expectations: no draws, no noise.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "assess/marginals.hpp"
#include "assess/near_marginals.hpp"
#include "assess/pareto.hpp"
#include "core/elbo.hpp"
#include "exact/linear_response.hpp"
#include "exact/low_rank.hpp"
#include "fit/default_run.hpp"
#include "models/expected_regression.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

namespace {

/// Draws for k-hat: as few as will do where the log weights' sd is small. As many as the options have only
/// where kUsualDraws do not show that all marginals are near, and more may.
constexpr Index kFewestDraws = 32;
constexpr Index kFewDraws = 100;
constexpr Index kUsualDraws = 1000;
/// If it is this small, and tails are light, the KL divergence is half the square, .005 nats: a mean that is
/// off by d sds takes d^2 / 2 of it, the log of an sd that is off by e takes e^2. No line shows more than
/// that. kFewestDraws give it to an eighth.
constexpr double kTinySpread = .1;
constexpr double kSurelyTiny = .75 * kTinySpread;
constexpr double kSmallSpread = .25;
/// Largest m up to which the first factors are the quadratic's local maximum, not only eigenvectors.
constexpr Index kQuadraticDimension = 300;

std::string describe_stop(const ExactStop& stop) {
  return fmt::format(
      "the gradient's norm is {:.2g} in scaled coordinates after {} iterations, and a Newton step would gain "
      "{:.2g} "
      "nats",
      stop.gradient_norm, stop.iterations, stop.predicted_gain);
}

/// Of those that differ by less than an ascent leaves the first, so that rounding does not decide.
template <class Fits>
void best_first(Fits& fits) {
  const auto lower = [](const auto& a, const auto& b) { return a.elbo < b.elbo; };
  const double best = std::max_element(fits.begin(), fits.end(), lower)->elbo;
  const auto first = std::find_if(fits.begin(), fits.end(),
                                  [&](const auto& fit) { return !(fit.elbo < best - kExactTolerance); });
  std::rotate(fits.begin(), first, first + 1);
  std::stable_sort(fits.begin() + 1, fits.end(),
                   [](const auto& a, const auto& b) { return a.elbo > b.elbo; });
}

double spread_of(const ElboEstimate& estimate) {
  return estimate.se * std::sqrt(static_cast<double>(estimate.log_weights.size()));
}

/// Whether not all marginals are known to be near by the weights of these draws, and those of more may tell.
bool more_would_tell(const ElboEstimate& estimate, const Gaussian& q, std::uint64_t seed, Workers& workers) {
  if (!std::isfinite(estimate.elbo)) return false;
  const SmoothedWeights weights = smooth_weights(estimate.log_weights);
  if (weights.khat > kPoorKhat) return false;
  const auto near = near_marginals(q, seed, weights, kDoubt, workers);
  return near.empty() || std::find(near.begin(), near.end(), false) != near.end();
}

/// As few draws as their weights allow, to the number that the options have.
ElboEstimate enough_draws(Evaluator& evaluator, const Gaussian& q, const AssessmentOptions& options) {
  const std::uint64_t seed = options.seed + 1;
  ElboEstimate out;
  const auto spread_with = [&](Index draws) {
    extend_estimate(evaluator, q, std::min(options.draws, draws), seed, out);
    return spread_of(out);
  };
  if (spread_with(kFewestDraws) < kSurelyTiny || spread_with(kFewDraws) < kSmallSpread) return out;
  extend_estimate(evaluator, q, std::min(options.draws, kUsualDraws), seed, out);
  if (options.log_concave && more_would_tell(out, q, seed, evaluator.workers()))
    extend_estimate(evaluator, q, options.draws, seed, out);
  return out;
}

}  // namespace

const ExpectedLogDensity* DefaultRun::exact_expectations() const {
  return options_.expectations == Expectations::kDraws ? nullptr : model_.expectations();
}

// A concave log density has one mode, which Newton steps find; for others there may be several.
std::vector<Candidate> DefaultRun::exact_candidates(ExactElbo& elbo, const std::vector<Vector>& points,
                                                    const ExactObserver& go_on) {
  const Index m = model_.dimension();
  if (!elbo.expected().log_concave() || m > kDenseDimension) {
    const bool one_start = m > kDenseDimension && elbo.expected().log_concave();
    search_.points = one_start ? std::vector<Vector>{points.front()} : points;
    auto found = search(search_);
    shape_ = choose_shape(evaluator_, found.front(), options_.rank, search_.pattern, options_.seed);
    return found;
  }
  const bool full_rank = options_.rank ? *options_.rank >= m : m <= kFullRankDimension;
  control_.enter(Phase::kSearch);
  if (full_rank) {  // its Newton steps need no mode
    shape_.choice = {m, {{m, std::numeric_limits<double>::quiet_NaN()}}};
    reports_.push_back(
        {std::numeric_limits<double>::quiet_NaN(), true, std::numeric_limits<double>::quiet_NaN()});
    return {{{points.front(), Vector::Zero(m), 0}, std::nullopt, false, 0}};
  }
  ModePoint mode = newton_mode(elbo, points.front(), go_on);
  reports_.push_back({mode.log_density, mode.converged, std::numeric_limits<double>::quiet_NaN()});
  Candidate candidate{{std::move(mode.mean), Vector::Zero(m), mode.log_density},
                      std::move(mode.curvature),
                      mode.converged,
                      0};
  shape_ = choose_shape(evaluator_, candidate, options_.rank, nullptr, options_.seed);
  return {std::move(candidate)};
}

void DefaultRun::fit_exactly_from(ExactElbo& elbo, const Candidate& candidate, const ExactObserver& go_on) {
  const Index m = model_.dimension();
  const Vector mean = detail::short_of_saturation(elbo.expected(), candidate.centre.theta);
  const Index rank = shape_.choice.rank;
  if (rank >= m) {
    FullRankResult fit = best_full_rank_gaussian(elbo, mean, go_on);
    if (detail::saturation(elbo.expected(), fit.posterior.mean())) settle_given_last(elbo, fit);
    exact_fits_.push_back({std::move(fit.posterior), fit.elbo, fit.stop, std::nullopt});
    return;
  }
  LowRankPoint start{mean, Matrix(m, 0), Vector()};
  AscentScales scales{Vector(), candidate.curvature};
  if (candidate.curvature) {
    const QuadraticFitter fitter(*candidate.curvature, &control_);
    scales.conditional_sd = candidate.curvature->diagonal().cwiseSqrt().cwiseInverse();
    start.residual_sd = scales.conditional_sd;
    if (rank > 0 && m > kQuadraticDimension) {
      start.factors = fitter.eigenvectors(scales.conditional_sd, rank);
    } else if (rank > 0) {
      QuadraticFit fit = fitter.fit(rank);
      start.factors = std::move(fit.factors);
      start.residual_sd = std::move(fit.residual_sd);
    }
  } else {
    const Gaussian q =
        quadratic_start(evaluator_, candidate, shape_, options_.seed).covariance->gaussian(mean);
    start.factors = q.factors();
    start.residual_sd = q.residual_sd();
    scales.conditional_sd = q.residual_sd();
  }
  LowRankFit fit = fit_low_rank(elbo, start, scales, options_.seed, go_on);
  exact_fits_.push_back(
      {Gaussian::low_rank(fit.at.mean, std::move(fit.at.factors), std::move(fit.at.residual_sd)), fit.elbo,
       fit.stop, std::move(fit.curvature)});
}

void DefaultRun::fit_exactly(const ExpectedLogDensity& expected, const std::vector<Vector>& points) {
  ExactElbo elbo(expected, evaluator_.workers());
  std::int64_t counted = 0;
  const ExactObserver go_on = [&](std::int64_t passes, double value) {
    try {
      control_.spend(static_cast<double>(passes - counted));
      counted = passes;
      control_.report(passes, value);
    } catch (const Stopped&) {
      return false;
    }
    return true;
  };
  const std::vector<Candidate> candidates = exact_candidates(elbo, points, go_on);
  control_.enter(Phase::kRefinement);
  for (const Candidate& candidate : candidates) {
    if (control_.stopped() && !exact_fits_.empty()) break;
    fit_exactly_from(elbo, candidate, go_on);
    if (candidate.search < reports_.size()) reports_[candidate.search].elbo = exact_fits_.back().elbo;
  }
  best_first(exact_fits_);
  ExactStop& best = exact_fits_.front().stop;
  const auto saturated = detail::saturation(expected, exact_fits_.front().posterior.mean());
  best.converged = best.converged && !saturated;
  if (saturated)
    stop(StopReason::kDiverged, *saturated);
  else if (control_.stopped())
    stop(control_.reason(), control_.detail() + "; " + describe_stop(best));
  else
    stop(best.converged ? StopReason::kConverged : StopReason::kIterationLimit, describe_stop(best));
}

// The largest change of an sd; NaN if there is no correction.
double DefaultRun::correct(ExactFit& fit) {
  ExactElbo elbo(*model_.expectations(), evaluator_.workers());
  const ExactObserver go_on = [&](std::int64_t, double) {
    try {
      control_.poll();
    } catch (const Stopped&) {
      return false;
    }
    return true;
  };
  auto response =
      fit.stop.converged ? linear_response(elbo, fit.posterior, fit.curvature, go_on) : std::nullopt;
  if (!response) return std::numeric_limits<double>::quiet_NaN();
  fit.posterior = fit.posterior.with_correction(std::move(response->corrected));
  return response->change;
}

FitResult DefaultRun::assess_exact() {
  ExactFit& best = exact_fits_.front();
  AssessmentOptions options{.draws = options_.diagnostic_draws,
                            .seed = options_.seed,
                            .quantities = options_.quantities ? &*options_.quantities : nullptr,
                            .estimate = std::nullopt,
                            .log_concave = model_.expectations()->log_concave()};
  if (!control_.stopped()) {
    control_.enter(Phase::kAssessment);
    options.response = correct(best);
    options.estimate = enough_draws(evaluator_, best.posterior.corrected(), options);
    options.draws = options.estimate->log_weights.size();
    const double spread = spread_of(*options.estimate);
    // What is close to a Gaussian and log-concave has light tails.
    const bool light_tails = spread < kSmallSpread && options.log_concave;
    options.probe_tails = !light_tails;
    options.probe_marginals = !(light_tails && spread < kTinySpread);
  }
  const FitEnding ending{stopped_, stop_detail_, stopped_ == StopReason::kConverged, true};
  Assessment assessment = assess_correction(evaluator_, best.posterior, ending, options);
  assessment.elbo = best.elbo;
  assessment.elbo_se = 0;
  FitResult result = report(best.posterior, std::move(assessment), best.stop.iterations);
  result.expectations = Expectations::kExact;
  return result;
}

}  // namespace magva
