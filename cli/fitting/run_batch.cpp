#include <fmt/format.h>

#include <string_view>

#include "fitting/run.hpp"
#include "fitting/watch.hpp"
#include "refine/fit_batch.hpp"

namespace magva::fitting {

nlohmann::ordered_json batch_details(const Minibatch& minibatch, std::int64_t iterations,
                                     Index judging_draws) {
  const auto batches = minibatch.batches();
  return {{"rows", minibatch.options().rows},
          {"run", minibatch.options().run},
          {"batches_per_epoch", batches},
          {"epochs", static_cast<double>(iterations) / static_cast<double>(batches)},
          {"elbo_rows", minibatch.full().rows()},
          {"elbo_draws", judging_draws}};
}

namespace {

/// Of the passes and the refinement, counted by rows; the sample's fit is little beside them where data are
/// large.
std::int64_t most_gradients(const BatchOptions& options, const Minibatch& minibatch) {
  const std::int64_t draws = options.draws + 1;
  return draws * (options.passes + 1) + options.iterations * draws / minibatch.batches();
}

}  // namespace

FitOutcome run_batch(const FitTask& task) {
  if (task.minibatch->batches() == 1) {
    FitTask whole{task.full_model, task.full_model, nullptr,       task.judging_draws, task.start,
                  task.values,     task.folder,     task.progress, task.resume};
    return run_default(whole);
  }
  BatchOptions options;
  options.start = auto_options(task);
  if (task.values.given("iterations")) options.iterations = task.values.integer("iterations");
  const std::int64_t most = most_gradients(options, *task.minibatch);
  Watch watch(task, options.iterations, {});
  AutoResult result = fit_batch(*task.minibatch, options, {[&](const AutoView& view) {
    const IterationView iteration{view.iteration, view.gradient_evaluations, view.seconds, view.elbo};
    const bool refining = std::string_view(view.phase) == "refinement";
    const Stage stage{fmt::format("{}, gradient", view.phase), view.gradient_evaluations, most, false};
    return refining ? watch(iteration, stage) : watch.prepare(iteration, stage);
  }});
  FitOutcome outcome = outcome_of(std::move(result), watch);
  outcome.details["batch"] = batch_details(*task.minibatch, outcome.result.iterations, task.judging_draws);
  return outcome;
}

}  // namespace magva::fitting
