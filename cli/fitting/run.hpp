#pragma once
// One fit, from a model to an outcome: by Algorithm 1 with a rule of the paper, or by the default optimiser.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "fit/fit_auto.hpp"
#include "fitting/progress.hpp"
#include "magva/minibatch.hpp"
#include "options/values.hpp"
#include "results/fit_folder.hpp"
#include "results/trace.hpp"

namespace magva::fitting {

class Watch;

struct FitTask {
  const Model& model;
  const Model& full_model;     ///< by which the result is judged; `model` where it sees all rows
  const Minibatch* minibatch;  ///< `model`, where it works on minibatches
  Index judging_draws;
  Vector start;
  const options::Values& values;
  const results::FitFolder& folder;
  Progress& progress;
  bool resume;
};

struct FitOutcome {
  FitResult result;
  double elbo, elbo_se;  ///< from fresh draws
  std::optional<double> khat;
  bool trusted;
  std::vector<std::string> warnings;
  std::string family;
  results::Trace trace;
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
};

/// Every fault of the options, for a model of this dimension, before anything is written.
std::vector<std::string> rule_problems(const options::Values& values, Index dimension);
std::vector<std::string> default_problems(const options::Values& values, Index dimension);

/// With --rule: Algorithm 1 with the paper's settings.
FitOutcome run_rule(const FitTask& task);
/// Without: the default, which needs no settings.
FitOutcome run_default(const FitTask& task);
/// Without, on minibatches.
FitOutcome run_batch(const FitTask& task);

/// The default's options.
AutoOptions auto_options(const FitTask& task);
/// What the default leaves behind, with why the watch stopped it.
FitOutcome outcome_of(AutoResult result, Watch& watch);
/// What fit.json says about minibatches.
nlohmann::ordered_json batch_details(const Minibatch& minibatch, std::int64_t iterations,
                                     Index judging_draws);

}  // namespace magva::fitting
