#pragma once
// Plain words for where our figures and the paper's differ.
#include <string>
#include <vector>

#include "experiments/statistics.hpp"

namespace magva::experiments {

/// Error rates in per cent; a difference below half a point counts as none.
std::string compare_rates(double training, double paper_training, double test, double paper_test);
/// Whether a mean lower bound lies above another, by more than two standard errors.
std::string compare_bounds(const MeanSd& ours, const MeanSd& reference);

std::vector<std::string> ionosphere_remarks();
std::vector<std::string> simulation_remarks();
std::vector<std::string> leukemia_remarks();

}  // namespace magva::experiments
