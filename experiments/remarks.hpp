#pragma once
// Plain words for where our figures and the paper's differ.
#include <string>
#include <vector>

#include "experiments/statistics.hpp"

namespace magva::experiments {

/// Error rates in per cent; a difference below half a point counts as none.
std::string compare_rates(double training, double paper_training, double test, double paper_test);
/// Errors of so many samples; a difference below half an error counts as none.
std::string compare_errors(double ours, double paper);
/// Whether a mean lower bound lies above another, by more than a tenth and more than two standard errors.
std::string compare_bounds(const Ends& ours, const MeanSd& reference);
bool clearly_below(const Ends& ours, const MeanSd& reference);

/// What a reader must know to read the figures: what the paper leaves open, and what was found.
std::vector<std::string> ionosphere_remarks();
std::vector<std::string> simulation_remarks();
std::vector<std::string> leukemia_remarks();

}  // namespace magva::experiments
