#include "fit/default_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "fit/constants.hpp"
#include "magva/error.hpp"

namespace magva {

namespace {

// Refinements of different candidates draw different noise; the winner's is the seed's own.
std::uint64_t candidate_seed(std::uint64_t seed, std::size_t candidate) {
  return seed ^ (static_cast<std::uint64_t>(candidate) << 56U);
}

}  // namespace

std::vector<std::string> AutoOptions::problems(Index dimension) const {
  std::vector<std::string> out;
  if (dimension < 1) out.emplace_back("the model has no parameters");
  if (rank && *rank < 0) out.push_back(fmt::format("rank is {} and must be 0 or more", *rank));
  if (starts < 1) out.push_back(fmt::format("starts is {} and must be at least 1", starts));
  if (init && init->size() != dimension)
    out.push_back(fmt::format("init has {} coordinates and must have {}", init->size(), dimension));
  if (threads < 1) out.push_back(fmt::format("threads is {} and must be at least 1", threads));
  if (max_evaluations < 0)
    out.push_back(fmt::format("max_evaluations is {} and must be 0 or more", max_evaluations));
  if (!(time_limit > 0)) out.push_back(fmt::format("time_limit is {} and must be above 0", time_limit));
  if (elbo_draws < 100) out.push_back(fmt::format("elbo_draws is {} and must be at least 100", elbo_draws));
  return out;
}

AutoRun::AutoRun(const Model& model, const AutoOptions& options, const std::vector<AutoObserver>& observers)
    : model_(model),
      options_(options),
      observers_(observers),
      evaluator_(model, std::max(1, options.threads)) {
  const auto problems = options.problems(model.dimension());
  if (!problems.empty()) throw UsageError(fmt::format("{}", fmt::join(problems, "; ")));
}

double AutoRun::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

std::int64_t AutoRun::evaluation_limit() const {
  if (options_.max_evaluations > 0) return options_.max_evaluations;
  return constants::kEvaluations + constants::kEvaluationsPerParameter * model_.dimension();
}

double AutoRun::tolerance() const {
  return std::max(constants::kToleranceNats,
                  constants::kToleranceShare * static_cast<double>(model_.dimension()));
}

bool AutoRun::go_on(const char* phase, std::int64_t iteration, double elbo) {
  if (over_) return false;
  const AutoView view{phase, iteration, evaluator_.evaluations(), seconds(), elbo};
  for (const auto& observer : observers_) over_ = !observer(view) || over_;
  if (over_) {
    stopped_ = StopReason::kInterrupted;
    evidence_ = fmt::format("stopped during the {} after {} gradients", phase, view.gradient_evaluations);
  } else if (view.seconds >= options_.time_limit) {
    over_ = true;
    stopped_ = StopReason::kTimeLimit;
    evidence_ = fmt::format("{} seconds were over during the {}", options_.time_limit, phase);
  } else if (view.gradient_evaluations >= evaluation_limit()) {
    over_ = true;
    stopped_ = StopReason::kIterationLimit;
    evidence_ = fmt::format("{} gradients were evaluated without convergence", view.gradient_evaluations);
  }
  return !over_;
}

Refinement AutoRun::race(std::vector<Candidate> candidates) {
  std::vector<Refinement> runners;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    auto covariance = start_covariance(candidates[i]);
    fit_scale(candidates[i].centre.theta, *covariance);
    runners.emplace_back(evaluator_, candidates[i].centre.theta, std::move(covariance),
                         candidate_seed(options_.seed, i), tolerance());
  }
  if (runners.size() == 1) return std::move(runners.front());
  std::vector<double> elbo(runners.size());
  for (std::size_t i = 0; i < runners.size(); ++i) {
    for (int k = 0; k < constants::kRaceIterations && runners[i].status() == RefinementStatus::kRunning;
         ++k) {
      if (!go_on("comparing starts", k, runners[i].elbo())) break;
      runners[i].step();
    }
    elbo[i] =
        runners[i].status() == RefinementStatus::kDiverged
            ? -std::numeric_limits<double>::infinity()
            : estimate_elbo(evaluator_, runners[i].posterior(), constants::kRaceDraws, options_.seed).elbo;
    reports_[candidates[i].search].elbo = elbo[i];
  }
  const auto best = static_cast<std::size_t>(std::max_element(elbo.begin(), elbo.end()) - elbo.begin());
  for (std::size_t i = 0; i < runners.size(); ++i)
    if (i != best && elbo[i] > elbo[best] - constants::kRivalNats) rivals_.push_back(std::move(runners[i]));
  return std::move(runners[best]);
}

// A posterior without bound shows in sds that grow and grow.
bool AutoRun::ran_away(const Gaussian& q) {
  const Vector growth = q.sd().cwiseQuotient(first_sd_);
  Index worst = 0;
  if (!(growth.maxCoeff(&worst) > constants::kRunawayGrowth)) return false;
  stopped_ = StopReason::kDiverged;
  evidence_ =
      fmt::format("the sd of {} has grown to {:.3g} and keeps growing: the posterior has no bound there",
                  model_.parameter_name(worst), q.sd()(worst));
  return true;
}

void AutoRun::refine(Refinement& refinement) {
  while (refinement.status() == RefinementStatus::kRunning) {
    if (!go_on("refinement", refinement.iterations(), refinement.elbo())) {
      evidence_ += "; " + refinement.window_words();
      return;
    }
    refinement.step();
    if (refinement.iterations() % constants::kWindow == 0 && ran_away(refinement.posterior())) return;
  }
  stopped_ =
      refinement.status() == RefinementStatus::kConverged ? StopReason::kConverged : StopReason::kDiverged;
  evidence_ = refinement.evidence();
}

void AutoRun::try_other_factors(Refinement& best) {
  if (stopped_ != StopReason::kConverged || rank_ == 0 || rank_ >= model_.dimension()) return;
  const auto elbo_of = [&](const Refinement& of) {
    return estimate_elbo(evaluator_, of.posterior(), constants::kAlternativeDraws, options_.seed).elbo;
  };
  double elbo = elbo_of(best);
  const std::int64_t patience = 2 * best.iterations();
  for (int k = 0; k < constants::kMostAlternatives; ++k) {
    auto other = best.alternative();
    if (!other) return;
    while (other->status() == RefinementStatus::kRunning && other->iterations() < patience &&
           go_on("refinement from other factors", other->iterations(), other->elbo()))
      other->step();
    const double found = elbo_of(*other);
    const bool better = found > elbo;
    const bool finished = other->status() == RefinementStatus::kConverged;
    if (over_ || (better && !finished)) {
      // What promised more has not been seen to its end.
      if (!over_) stopped_ = StopReason::kIterationLimit;
      evidence_ = fmt::format("other factors promised more than those that had converged, and {}",
                              over_ ? evidence_ : "did not converge in twice as many iterations");
      if (better) best = std::move(*other);
      return;
    }
    if (!better) return;
    elbo = found;
    evidence_ = other->evidence();
    best = std::move(*other);
  }
}

AutoResult AutoRun::run() {
  const Vector first = options_.init.value_or(model_.start());
  const std::vector<Vector> points = start_points(evaluator_, first, options_.starts, options_.seed);
  if (is_stochastic(evaluator_, points.front()))
    throw UsageError(
        "the log density differs between two evaluations at one point, so that fit_auto cannot tell when it "
        "has converged: give it the model on all rows, or fit minibatches with fit_batch");
  Refinement best = race(find_candidates(points));
  first_sd_ = best.posterior().sd();
  refine(best);
  try_other_factors(best);
  return judge(best);
}

AutoResult fit_auto(const Model& model, const AutoOptions& options,
                    const std::vector<AutoObserver>& observers) {
  return AutoRun(model, options, observers).run();
}

}  // namespace magva
