#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "fitting/run.hpp"
#include "fitting/watch.hpp"
#include "magva/auto/constants.hpp"
#include "magva/auto/fit_auto.hpp"
#include "magva/error.hpp"

namespace magva::fitting {

namespace {

using Json = nlohmann::ordered_json;

void refuse_options_of_rules(const options::Values& values) {
  std::vector<std::string> found;
  for (const char* option : {"iterations", "draws", "estimator"})
    if (values.given(option)) found.push_back(fmt::format("--{}", option));
  const std::string family = values.text("family");
  if (family == "grassmann" || family == "vafc" || family == "fixed-rank")
    found.push_back("--family " + family);
  if (!found.empty())
    throw UsageError(
        fmt::format("the default optimiser has no {}: choose a --rule of the paper, or leave {} out "
                    "(--evaluations limits the default)",
                    fmt::join(found, ", "), found.size() == 1 ? "it" : "them"));
}

std::optional<Index> rank(const options::Values& values, Index dimension) {
  const std::string family = values.text("family");
  if (family == "mean-field") return 0;
  if (family == "full-rank") return dimension;
  if (values.text("rank") == "auto") return std::nullopt;
  return values.integer("rank");
}

AutoOptions auto_options(const FitTask& task) {
  const auto& values = task.values;
  AutoOptions options;
  options.rank = rank(values, task.model.dimension());
  options.starts = static_cast<int>(values.integer("starts"));
  options.init = task.start;
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.threads = static_cast<int>(values.integer("threads"));
  options.max_evaluations =
      values.given("evaluations")
          ? values.integer("evaluations")
          : constants::kEvaluations + constants::kEvaluationsPerParameter * task.model.dimension();
  return options;
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
  std::replace(result.warnings.begin(), result.warnings.end(), stale,
               fmt::format("the fit was stopped early ({}): --resume starts it again", result.evidence));
}

}  // namespace

FitOutcome run_default(const FitTask& task) {
  refuse_options_of_rules(task.values);
  const AutoOptions options = auto_options(task);
  Watch watch(task, options.max_evaluations / (2 * constants::kFewestPairs), {});
  AutoResult result = fit_auto(
      task.model, options, {[&](const AutoView& view) {
        const Stage stage{fmt::format("{}, gradient", view.phase), view.gradient_evaluations,
                          options.max_evaluations, false};
        const IterationView iteration{view.iteration, view.gradient_evaluations, view.seconds, view.elbo};
        return std::string_view(view.phase) == "refinement" ? watch(iteration, stage)
                                                            : watch.prepare(iteration, stage);
      }});
  restate_stop(result, watch);
  FitResult fit{std::move(result.posterior), result.stopped,        result.evidence, result.iterations,
                result.gradient_evaluations, result.rejected_draws, result.seconds};
  const std::string family = family_of(fit.posterior);
  return {std::move(fit),  result.elbo, result.elbo_se, result.khat,       result.trusted,
          result.warnings, family,      watch.trace(),  details_of(result)};
}

}  // namespace magva::fitting
