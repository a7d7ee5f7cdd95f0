#pragma once
// One fit behind `magva fit`: the command line's options as the library's, and what happens around its
// iterations: progress, trace, checkpoints, interrupts.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fitting/progress.hpp"
#include "magva/fit.hpp"
#include "options/values.hpp"
#include "results/fit_folder.hpp"
#include "results/trace.hpp"
#include "source/model_source.hpp"

namespace magva::fitting {

struct FitTask {
  const source::ModelSource& source;
  const options::Values& values;
  const results::FitFolder& folder;
  Progress& progress;
  bool resume;  ///< from the folder's checkpoint
};

struct FitOutcome {
  FitResult result;
  results::Trace trace;
};

/// Every invalid option, for a model of this dimension, before anything is written.
std::vector<std::string> invalid_options(const options::Values& values, Index dimension);

FitOutcome run(const FitTask& task);

/// What fit.json says of the way to the result: ranks, starts, minibatches.
nlohmann::ordered_json details(const FitResult& result, const source::ModelSource& source);

}  // namespace magva::fitting
