#pragma once
#include "fitting/run.hpp"

namespace magva::fitting {

/// Runs or resumes the fitter, with trace, progress and checkpoints; seed and threads come from the task.
FitOutcome run_algorithm_one(const FitTask& task, FitOptions options);

}  // namespace magva::fitting
