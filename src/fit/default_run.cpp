#include "fit/default_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/elbo.hpp"
#include "fit/constants.hpp"
#include "fit/runs.hpp"
#include "magva/error.hpp"

namespace magva {

namespace {

// Refinements of different candidates draw different noise; the winner's is the seed's own.
std::uint64_t candidate_seed(std::uint64_t seed, std::size_t candidate) {
  return seed ^ (static_cast<std::uint64_t>(candidate) << 56U);
}

// Whether the two put their mass in different places: some mean differs by several sds of both.
bool apart(const Gaussian& a, const Gaussian& b) {
  return ((a.mean() - b.mean()).cwiseAbs().cwiseQuotient(a.sd().cwiseMax(b.sd()))).maxCoeff() >
         constants::kModesApart;
}

}  // namespace

std::int64_t FitOptions::evaluation_limit(Index dimension) const {
  if (max_evaluations > 0) return max_evaluations;
  return constants::kEvaluations + constants::kEvaluationsPerParameter * dimension;
}

double promised_nats(Index dimension) {
  return std::max(constants::kToleranceNats, constants::kToleranceShare * static_cast<double>(dimension));
}

DefaultRun::DefaultRun(const Model& model, const FitOptions& options, const std::vector<Observer>& observers)
    : model_(model),
      options_(options),
      control_({.seconds = options.time_limit,
                .evaluations = options.evaluation_limit(model.dimension()),
                .iterations = options.max_iterations.value_or(std::numeric_limits<std::int64_t>::max())},
               observers),
      evaluator_(model, choose_threads(options.threads, model), &control_) {}

void DefaultRun::stop(StopReason reason, std::string detail) {
  stopped_ = reason;
  stop_detail_ = std::move(detail);
}

Refinement DefaultRun::race(std::vector<Candidate> candidates) {
  std::vector<Refinement> runners;
  control_.enter(Phase::kQuadratic);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    auto covariance = start_covariance(candidates[i]);
    fit_scale(candidates[i].centre.theta, *covariance);
    runners.emplace_back(evaluator_, candidates[i].centre.theta, std::move(covariance),
                         candidate_seed(options_.seed, i), promised_nats(model_.dimension()));
  }
  if (runners.size() == 1) return std::move(runners.front());
  control_.enter(Phase::kComparison);
  std::vector<double> elbo(runners.size(), -std::numeric_limits<double>::infinity());
  try {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      for (int k = 0; k < constants::kRaceIterations && runners[i].status() == RefinementStatus::kRunning;
           ++k) {
        control_.report(k, runners[i].elbo());
        runners[i].step();
      }
      if (runners[i].status() != RefinementStatus::kDiverged)
        elbo[i] =
            estimate_elbo(evaluator_, runners[i].posterior(), constants::kRaceDraws, options_.seed).elbo;
      reports_[candidates[i].search].elbo = elbo[i];
    }
  } catch (const Stopped&) {  // the best of those that were seen
  }
  const auto best = static_cast<std::size_t>(std::max_element(elbo.begin(), elbo.end()) - elbo.begin());
  for (std::size_t i = 0; i < runners.size(); ++i)
    if (i != best && elbo[i] > elbo[best] - constants::kRivalNats) rivals_.push_back(std::move(runners[i]));
  return std::move(runners[best]);
}

// A posterior without bound shows in sds that grow and grow.
bool DefaultRun::ran_away(const Gaussian& q) {
  const Vector growth = q.sd().cwiseQuotient(first_sd_);
  Index worst = 0;
  if (!(growth.maxCoeff(&worst) > constants::kRunawayGrowth)) return false;
  stop(StopReason::kDiverged,
       fmt::format("the sd of {} has grown to {:.3g} and keeps growing: the posterior has no bound there",
                   model_.parameter_name(worst), q.sd()(worst)));
  return true;
}

void DefaultRun::refine(Refinement& refinement) {
  control_.enter(Phase::kRefinement);
  try {
    while (refinement.status() == RefinementStatus::kRunning) {
      control_.report(refinement.iterations(), refinement.elbo());
      refinement.step();
      if (refinement.iterations() % constants::kWindow == 0 && ran_away(refinement.posterior())) return;
    }
  } catch (const Stopped&) {
    stop(control_.reason(), control_.detail() + "; " + refinement.describe_window());
    throw;
  }
  stop(refinement.status() == RefinementStatus::kConverged ? StopReason::kConverged : StopReason::kDiverged,
       refinement.stop_detail());
}

void DefaultRun::try_other_factors(Refinement& best) {
  if (stopped_ != StopReason::kConverged || rank_ == 0 || rank_ >= model_.dimension()) return;
  const auto elbo_of = [&](const Refinement& of) {
    const ElboEstimate estimate =
        estimate_elbo(evaluator_, of.posterior(), constants::kAlternativeDraws, options_.seed);
    control_.poll();  // what only some of the draws say is no comparison
    return estimate.elbo;
  };
  control_.enter(Phase::kAlternatives);
  double elbo = elbo_of(best);
  const std::int64_t patience = 2 * best.iterations();
  for (int k = 0; k < constants::kMostAlternatives; ++k) {
    auto other = best.alternative();
    if (!other) return;
    while (other->status() == RefinementStatus::kRunning && other->iterations() < patience) {
      control_.report(other->iterations(), other->elbo());
      other->step();
    }
    const double found = elbo_of(*other);
    if (!(found > elbo)) return;
    elbo = found;
    best = std::move(*other);
    if (best.status() != RefinementStatus::kConverged) {
      // What promised more has not been seen to its end.
      stop(StopReason::kIterationLimit,
           "other factors promised more than those that had converged, and did not converge in twice as many "
           "iterations");
      return;
    }
    stop_detail_ = best.stop_detail();
  }
}

// A start that ended elsewhere with nearly as much mass is another mode, which one Gaussian cannot show.
void DefaultRun::compare_with_rivals(const Gaussian& best, Assessment& assessment) {
  for (Refinement& rival : rivals_) {
    for (int k = 0; k < constants::kRivalIterations && rival.status() == RefinementStatus::kRunning; ++k) {
      if (!apart(rival.posterior(), best)) break;
      rival.step();
    }
    const Gaussian other = rival.posterior();
    if (rival.status() == RefinementStatus::kDiverged || !apart(other, best)) continue;
    const double elbo = estimate_elbo(evaluator_, other, constants::kRaceDraws, options_.seed).elbo;
    if (elbo < assessment.elbo - constants::kModeNats) continue;
    return warn_of_mode(best, other, elbo, assessment);
  }
  for (const ExactFit& fit : exact_fits_)
    if (apart(fit.posterior, best) && fit.elbo >= assessment.elbo - constants::kModeNats)
      return warn_of_mode(best, fit.posterior, fit.elbo, assessment);
}

void DefaultRun::warn_of_mode(const Gaussian& best, const Gaussian& other, double elbo,
                              Assessment& assessment) const {
  Index worst = 0;
  (other.mean() - best.mean()).cwiseAbs().cwiseQuotient(best.sd().cwiseMax(other.sd())).maxCoeff(&worst);
  assessment.distrust(
      WarningKind::kSeveralModes,
      fmt::format(
          "starts disagree: another one ends at ELBO {:.2f} (this one: {:.2f}) with {} = {:.3g} "
          "instead of {:.3g}, so that the posterior has several modes, of which this Gaussian shows one",
          elbo, assessment.elbo, model_.parameter_name(worst), other.mean()(worst), best.mean()(worst)));
}

FitResult DefaultRun::finish(const Gaussian& q, std::int64_t iterations) {
  const FitEnding ending{stopped_, stop_detail_, stopped_ == StopReason::kConverged, true};
  return report(q,
                assess(evaluator_, q, ending,
                       {.draws = options_.diagnostic_draws,
                        .seed = options_.seed,
                        .quantities = options_.quantities ? &*options_.quantities : nullptr,
                        .estimate = std::nullopt}),
                iterations);
}

FitResult DefaultRun::report(const Gaussian& q, Assessment assessment, std::int64_t iterations) {
  try {
    if (std::isfinite(assessment.elbo)) compare_with_rivals(q, assessment);
  } catch (const Stopped&) {  // there was no time for it
  }
  FitResult result = assessed(q, std::move(assessment));
  result.rank_path = std::move(rank_path_);
  result.starts = std::move(reports_);
  result.iterations = iterations;
  result.gradient_evaluations = evaluations_;
  result.rejected_draws = rejected_;
  result.seconds = control_.seconds();
  return result;
}

FitResult DefaultRun::run() {
  const Vector first = options_.init.value_or(model_.start());
  fallback_ =
      Gaussian::low_rank(first, Matrix(first.size(), 0), Vector::Constant(first.size(), constants::kBlindSd));
  std::optional<Refinement> best;
  try {
    const std::vector<Vector> points = start_points(evaluator_, first, options_.starts, options_.seed);
    if (is_stochastic(evaluator_, points.front()))
      throw UsageError(
          "the log density differs between two evaluations at one point, so that a fit cannot tell when it "
          "has converged: give it the model on all rows, or a Minibatch");
    if (const ExpectedLogDensity* expected = exact_expectations()) {
      fit_exactly(*expected, points);
    } else {
      best = race(find_candidates(points));
      first_sd_ = best->posterior().sd();
      refine(*best);
      try_other_factors(*best);
    }
  } catch (const Stopped&) {
    if (stop_detail_.empty() || stopped_ == StopReason::kConverged)
      stop(control_.reason(), control_.detail());
  }
  evaluations_ = exact_fits_.empty() ? evaluator_.evaluations() : control_.evaluations();
  rejected_ = evaluator_.rejected();
  if (!exact_fits_.empty()) return finish_exact();
  if (best) return finish(best->posterior(), best->iterations());
  return finish(*fallback_, 0);
}

FitResult run_default(const Model& model, const FitOptions& options, const std::vector<Observer>& observers) {
  return DefaultRun(model, options, observers).run();
}

}  // namespace magva
