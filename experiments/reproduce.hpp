#pragma once
// `magva reproduce`: runs experiments and writes their results and the report.
#include <functional>
#include <string>
#include <vector>

#include "experiments/experiment.hpp"

namespace magva::experiments {

/// How a reproduction speaks to its user.
struct Console {
  std::function<void(const std::string& experiment, std::size_t done, std::size_t all)> progress;
  std::function<void(const std::string& sentence)> announce;  ///< what is about to be done
  std::function<void(const std::string& sentence)> say;       ///< what the user must know
  StopFlag stop;
};

enum class Outcome { done, interrupted, something_missing };

/// One of experiment_names(), or several. Data that are missing end one experiment with a sentence; the
/// others go on.
Outcome reproduce(const std::vector<std::string>& names, const ReproduceOptions& options,
                  const Console& console);

/// report.html from the sections of all experiments in the folder.
void write_report(const std::filesystem::path& out);

}  // namespace magva::experiments
