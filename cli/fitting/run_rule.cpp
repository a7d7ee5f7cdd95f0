#include <fmt/format.h>

#include <cmath>

#include "assess/elbo.hpp"
#include "assess/pareto.hpp"
#include "fitting/run.hpp"
#include "fitting/watch.hpp"

namespace magva::fitting {

namespace {

constexpr double kManyRejected = .01;  // share of draws
constexpr double kDoubtfulKhat = .7;

FitOptions fit_options(const options::Values& values) {
  FitOptions options;
  options.family.kind = parse_family(values.text("family"));
  if (values.text("rank") != "auto") options.family.rank = values.integer("rank");
  if (options.family.kind == FamilyKind::kMeanField) options.family.rank = 0;
  options.factor_rule = rule_defaults(parse_rule(values.text("rule")));
  if (values.given("estimator")) options.estimator = parse_estimator(values.text("estimator"));
  if (values.given("draws")) options.draws = values.integer("draws");
  options.antithetic = values.flag("antithetic");
  if (options.antithetic && !values.given("draws")) options.draws = 2;
  if (values.given("iterations")) options.max_iterations = values.integer("iterations");
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.threads = static_cast<int>(values.integer("threads"));
  return options;
}

Fitter make_fitter(const FitTask& task, const FitOptions& options) {
  if (task.resume) return Fitter::resume(task.folder.checkpoint(), task.model, options.threads);
  return {task.model, options, Whitening::none(task.model.dimension()), task.start};
}

/// On minibatches a gradient counts by the rows that it reads.
std::int64_t full_gradients(std::int64_t evaluations, const FitTask& task) {
  const Index batches = task.minibatch == nullptr ? 1 : task.minibatch->batches();
  return (evaluations + batches - 1) / batches;
}

/// What speaks against the result; k-hat alone does not, since no iteration promised a good one.
void judge(FitOutcome& outcome, const ElboEstimate& estimate, Index draws) {
  const auto distrust = [&](std::string why) {
    outcome.trusted = false;
    outcome.warnings.push_back(std::move(why));
  };
  const FitResult& result = outcome.result;
  if (result.stopped == StopReason::kDiverged) distrust(fmt::format("the fit diverged: {}", result.evidence));
  if (result.stopped == StopReason::kInterrupted || result.stopped == StopReason::kTimeLimit)
    distrust(fmt::format("the fit was stopped early ({}): go on with --resume", result.evidence));
  if (!std::isfinite(estimate.elbo)) distrust("the ELBO of the result is not finite");
  const double rejected = static_cast<double>(estimate.rejected) / static_cast<double>(draws);
  if (rejected > kManyRejected)
    distrust(fmt::format("the log density was not finite at {:.1f} % of the draws", 100 * rejected));
  if (outcome.khat && *outcome.khat > kDoubtfulKhat)
    outcome.warnings.push_back(fmt::format("k-hat is {:.2f}, {}", *outcome.khat, khat_words(*outcome.khat)));
}

}  // namespace

std::vector<std::string> rule_problems(const options::Values& values, Index dimension) {
  return fit_options(values).problems(dimension);
}

FitOutcome run_rule(const FitTask& task) {
  const FitOptions options = fit_options(task.values);
  Fitter fitter = make_fitter(task, options);
  const std::int64_t most = fitter.options().max_iterations;
  Watch watch(task, most, [&] { fitter.save(task.folder.checkpoint()); });
  if (task.resume) watch.trace().restore(task.folder.trace(), fitter.iteration());
  FitResult result = fitter.run({[&](const IterationView& view) {
    IterationView fair = view;
    fair.gradient_evaluations = full_gradients(view.gradient_evaluations, task);
    return watch(fair, {"iteration", view.iteration, most, true});
  }});
  result.gradient_evaluations = full_gradients(result.gradient_evaluations, task);
  if (watch.stopped()) {
    watch.save_checkpoint();
    result.stopped = *watch.stopped();
    result.evidence = watch.evidence();
  }
  Evaluator evaluator(task.full_model, options.threads);
  const ElboEstimate estimate =
      estimate_elbo(evaluator, result.posterior, task.judging_draws, options.seed + 1);
  const bool measurable = std::isfinite(estimate.elbo);
  FitOutcome outcome{std::move(result),
                     estimate.elbo,
                     estimate.se,
                     measurable ? std::optional(pareto_khat(estimate.log_weights)) : std::nullopt,
                     true,
                     {},
                     name(fitter.options().family.kind),
                     watch.trace()};
  judge(outcome, estimate, task.judging_draws);
  if (task.minibatch != nullptr)
    outcome.details["batch"] = batch_details(*task.minibatch, outcome.result.iterations, task.judging_draws);
  return outcome;
}

}  // namespace magva::fitting
