#pragma once
// Independent runs, spread over threads, each saved when it is done and never run again.
#include <functional>
#include <string>
#include <vector>

#include "experiments/engine_run.hpp"
#include "experiments/journal.hpp"

namespace magva::experiments {

struct Run {
  std::string key;
  std::function<Json(const StopFlag&)> work;
  double cost = 1;  ///< roughly, in gradient evaluations of the experiment's model
};

/// Called, by one thread at a time, with the number of finished runs and of all.
using RunProgress = std::function<void(std::size_t done, std::size_t all)>;

/// False where `stop` ended it before all runs were done. What a run throws ends the others and is thrown
/// here.
bool run_all(const std::vector<Run>& runs, Journal& journal, int threads, const StopFlag& stop,
             const RunProgress& progress);

}  // namespace magva::experiments
