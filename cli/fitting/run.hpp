#pragma once
// One fit behind `magva fit`: the command line's options as the library's, and what happens around its
// iterations: progress, trace, checkpoints, interrupts.
#include <string>
#include <vector>

#include "fitting/progress.hpp"
#include "magva/fit.hpp"
#include "magva/fit_folder.hpp"
#include "magva/model_source.hpp"
#include "magva/sd_for.hpp"
#include "options/values.hpp"

namespace magva::fitting {

struct FitTask {
  const source::ModelSource& source;
  const options::Values& values;
  const results::FitFolder& folder;
  Progress& progress;
  std::string identity;  ///< of the fit: what is fitted, and to which data
  bool resume;           ///< from the folder's checkpoint
};

struct FitOutcome {
  FitResult result;
  results::Trace trace;
  SdCorrection sds;  ///< of the parameters whose sds were asked for
};

/// The options of the library, for a model of this dimension.
FitOptions fit_options(const options::Values& values, Index dimension);

/// Every invalid option, for a model of this dimension, before anything is written.
std::vector<std::string> invalid_options(const options::Values& values, Index dimension);

/// The parameters of --sd-for, which the model must have. UsageError.
std::vector<std::string> parameters_asked_for(const options::Values& values,
                                              const source::ModelSource& source);

FitOutcome run(const FitTask& task);

}  // namespace magva::fitting
