#include "magva/fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithm1/options.hpp"
#include "fit/algorithm1_run.hpp"
#include "fit/runs.hpp"
#include "magva/error.hpp"

namespace magva {

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::kSearch:
      return "mode search";
    case Phase::kCurvature:
      return "curvature";
    case Phase::kQuadratic:
      return "first Gaussian";
    case Phase::kComparison:
      return "comparison of starts";
    case Phase::kRefinement:
      return "refinement";
    case Phase::kAlternatives:
      return "refinement from other factors";
    case Phase::kSample:
      return "fit to a sample of rows";
    case Phase::kPasses:
      return "passes over all rows";
    case Phase::kIterations:
      return "iterations";
    case Phase::kAssessment:
      return "assessment";
    case Phase::kShape:
      return "fit of another shape";
  }
  return "unknown";
}

const char* to_string(StopReason reason) {
  switch (reason) {
    case StopReason::kConverged:
      return "converged";
    case StopReason::kIterationLimit:
      return "iteration limit";
    case StopReason::kTimeLimit:
      return "time limit";
    case StopReason::kInterrupted:
      return "interrupted";
    case StopReason::kDiverged:
      return "diverged";
  }
  return "unknown";
}

const char* to_string(ShapeChoice choice) {
  switch (choice) {
    case ShapeChoice::kAutomatic:
      return "auto";
    case ShapeChoice::kGaussian:
      return "gaussian";
    case ShapeChoice::kSkewed:
      return "skewed";
    case ShapeChoice::kFlow:
      return "flow";
  }
  return "unknown";
}

ShapeChoice parse_shape(std::string_view name) {
  for (const auto choice :
       {ShapeChoice::kAutomatic, ShapeChoice::kGaussian, ShapeChoice::kSkewed, ShapeChoice::kFlow})
    if (name == to_string(choice)) return choice;
  throw UsageError(fmt::format("shape is '{}' and must be auto, gaussian, skewed or flow", name));
}

namespace {

/// Dense matrices of this size are what shapes other than the Gaussian work with.
constexpr Index kMostShapedParameters = 500;

bool asks_for_shape(const FitOptions& options) {
  return options.shape == ShapeChoice::kSkewed || options.shape == ShapeChoice::kFlow;
}

}  // namespace

std::vector<std::string> FitOptions::validate(Index dimension) const {
  std::vector<std::string> found;
  const auto require = [&](bool fine, const char* field, auto value, std::string_view rule) {
    if (!fine) found.push_back(fmt::format("{} is {} and must be {}", field, value, rule));
  };
  require(threads >= 0 && threads <= 1024, "threads", threads, "between 0 and 1024");
  require(starts >= 1, "starts", starts, "at least 1");
  if (init)
    require(init->size() == dimension, "the size of init", init->size(), fmt::format("{}", dimension));
  require(max_evaluations >= 0, "max_evaluations", max_evaluations, "0 or more");
  require(diagnostic_draws >= 100, "diagnostic_draws", diagnostic_draws, "at least 100");
  require(minibatch.passes >= 1, "minibatch.passes", minibatch.passes, "at least 1");
  require(minibatch.draws >= 2 && minibatch.draws % 2 == 0, "minibatch.draws", minibatch.draws,
          "even and at least 2");
  require(time_limit > 0, "time_limit", time_limit, "positive");
  require(layers >= 1 && layers <= 1000, "layers", layers, "between 1 and 1000");
  if (asks_for_shape(*this))
    require(!algorithm1 && dimension <= kMostShapedParameters, "shape", to_string(shape),
            fmt::format("auto or gaussian with Algorithm 1, and with more than {} parameters",
                        kMostShapedParameters));
  if (checkpoint) {
    require(checkpoint->every > 0, "checkpoint.every", checkpoint->every, "positive");
    if (checkpoint->path.empty()) found.emplace_back("checkpoint.path is empty and must name a file");
  }
  if (algorithm1) {
    const auto more = fitter_options(*this, dimension, 1).validate(dimension);
    found.insert(found.end(), more.begin(), more.end());
    return found;
  }
  require(dimension > 0, "the model's dimension", dimension, "positive");
  if (rank) require(*rank >= 0, "rank", *rank, "0 or more");
  if (max_iterations) require(*max_iterations >= 1, "max_iterations", *max_iterations, "positive");
  return found;
}

FitResult assessed(Gaussian posterior, Assessment assessment) {
  return {.posterior = std::move(posterior),
          .manifold = std::nullopt,
          .stopped = assessment.ending.stopped,
          .stop_detail = std::move(assessment.ending.detail),
          .elbo = assessment.elbo,
          .elbo_se = assessment.elbo_se,
          .khat = assessment.khat,
          .trusted = assessment.trusted,
          .warnings = std::move(assessment.warnings),
          .doubts = std::move(assessment.doubts),
          .rank_path = {},
          .starts = {},
          .iterations = 0,
          .gradient_evaluations = 0,
          .rejected_draws = 0,
          .seconds = 0};
}

FitResult fit(const Model& model, const FitOptions& options, const std::vector<Observer>& observers) {
  const auto faults = options.validate(model.dimension());
  if (!faults.empty()) throw UsageError(fmt::format("{}", fmt::join(faults, "; ")));
  const auto* minibatch = dynamic_cast<const Minibatch*>(&model);
  const Model& full = minibatch != nullptr ? minibatch->full() : model;
  if (options.algorithm1) return run_algorithm1(model, full, options, observers);
  if (minibatch != nullptr && minibatch->batches() > 1) {
    if (asks_for_shape(options))
      throw UsageError(
          fmt::format("shape is {}, which is fitted on all rows: leave it out, or fit without minibatches",
                      to_string(options.shape)));
    return run_minibatch(*minibatch, options, observers);
  }
  FitResult result = run_default(full, options, observers);
  const bool by_draws = result.expectations == Expectations::kDraws;
  if (try_shapes(full, options, observers, result) && by_draws)
    correct_by_chains(full, options, observers, result);
  warn_of_long_tails(full, options, observers, result);
  return result;
}

}  // namespace magva
