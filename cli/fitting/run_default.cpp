#include <fmt/format.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "fit/constants.hpp"
#include "fit/fit_auto.hpp"
#include "fitting/run.hpp"
#include "fitting/watch.hpp"

namespace magva::fitting {

namespace {

using Json = nlohmann::ordered_json;

std::optional<Index> rank(const options::Values& values, Index dimension) {
  const std::string family = values.text("family");
  if (family == "mean-field") return 0;
  if (family == "full-rank") return dimension;
  if (values.text("rank") == "auto") return std::nullopt;
  return values.integer("rank");
}

AutoOptions options_from(const options::Values& values, Index dimension) {
  AutoOptions options;
  options.rank = rank(values, dimension);
  options.starts = static_cast<int>(values.integer("starts"));
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.threads = static_cast<int>(values.integer("threads"));
  options.max_evaluations = values.given("evaluations")
                                ? values.integer("evaluations")
                                : constants::kEvaluations + constants::kEvaluationsPerParameter * dimension;
  return options;
}

/// The default forms matrices of many megabytes in every iteration. Given back to the system each time and
/// asked for again, they took a third of the time of a large fit.
void keep_freed_memory() {
#if defined(__GLIBC__)
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
}

Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json details_of(const AutoResult& result) {
  Json details = {{"rank_path", Json::array()}, {"starts", Json::array()}};
  for (const auto& step : result.rank_path)
    details["rank_path"].push_back({{"rank", step.rank}, {"gain", or_null(step.gain)}});
  for (const auto& start : result.starts)
    details["starts"].push_back({{"log_density", or_null(start.log_density)},
                                 {"converged", start.converged},
                                 {"elbo", or_null(start.elbo)}});
  return details;
}

std::string family_of(const Gaussian& posterior) {
  return posterior.is_dense() ? "full-rank" : posterior.rank() == 0 ? "mean-field" : "stiefel";
}

/// The optimiser knows only that it was told to stop; the watch knows why.
void restate_stop(AutoResult& result, const Watch& watch) {
  if (!watch.stopped() || result.stopped != StopReason::kInterrupted) return;
  const std::string stale =
      fmt::format("the fit has not converged ({}): {}", words(result.stopped), result.evidence);
  result.stopped = *watch.stopped();
  result.evidence = watch.evidence();
  std::replace(
      result.warnings.begin(), result.warnings.end(), stale,
      fmt::format("the fit was stopped early ({}): more time or iterations would help", result.evidence));
}

}  // namespace

std::vector<std::string> default_problems(const options::Values& values, Index dimension) {
  auto found = options_from(values, dimension).problems(dimension);
  const auto of_rules = [&](const std::string& option) {
    found.push_back(fmt::format(
        "the default optimiser has no {}: choose a --rule of the paper, or leave it out", option));
  };
  if (values.given("draws")) of_rules("--draws");
  if (values.given("estimator")) of_rules("--estimator");
  if (values.flag("antithetic")) of_rules("--antithetic");
  const std::string family = values.text("family");
  if (family == "grassmann" || family == "vafc" || family == "fixed-rank") of_rules("--family " + family);
  return found;
}

AutoOptions auto_options(const FitTask& task) {
  AutoOptions options = options_from(task.values, task.model.dimension());
  options.init = task.start;
  options.elbo_draws = task.judging_draws;
  return options;
}

FitOutcome outcome_of(AutoResult result, Watch& watch) {
  restate_stop(result, watch);
  FitResult fit{std::move(result.posterior), result.stopped,        result.evidence, result.iterations,
                result.gradient_evaluations, result.rejected_draws, result.seconds};
  const std::string family = family_of(fit.posterior);
  return {std::move(fit),  result.elbo, result.elbo_se, result.khat,       result.trusted,
          result.warnings, family,      watch.trace(),  details_of(result)};
}

FitOutcome run_default(const FitTask& task) {
  const AutoOptions options = auto_options(task);
  Watch watch(task, options.max_evaluations / (2 * constants::kFewestPairs), {});
  if (task.values.given("iterations")) watch.stop_after(task.values.integer("iterations"));
  keep_freed_memory();
  AutoResult result = fit_auto(
      task.model, options, {[&](const AutoView& view) {
        const Stage stage{fmt::format("{}, gradient", view.phase), view.gradient_evaluations,
                          options.max_evaluations, false};
        const IterationView iteration{view.iteration, view.gradient_evaluations, view.seconds, view.elbo};
        return std::string_view(view.phase) == "refinement" ? watch(iteration, stage)
                                                            : watch.prepare(iteration, stage);
      }});
  return outcome_of(std::move(result), watch);
}

}  // namespace magva::fitting
