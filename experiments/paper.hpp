#pragma once
// What the paper prints, to stand beside our figures, and words for where they differ.
#include <optional>
#include <string>

#include "experiments/statistics.hpp"

namespace magva::experiments {

struct PaperErrors {
  double training;  ///< per cent in the ionosphere table, errors in the leukemia table
  double test;
  double seconds;
};

/// Table 2: five folds, p = 4, 5000 iterations. By the method's id.
std::optional<PaperErrors> paper_ionosphere(const std::string& method);
/// Table 3: 38 training and 34 test samples, p = 4, 5000 iterations.
std::optional<PaperErrors> paper_leukemia(const std::string& method);

/// Our mean test error and its sd over splits beside the paper's figure, which is of one split: a difference
/// of less than two such sds is none to speak of.
std::string compare_rates(const MeanSd& test, double paper_test);
/// Errors of so many samples; a difference below half an error counts as none.
std::string compare_errors(double ours, double paper);

/// The difference of two means, 0 if it is less than a tenth or than two standard errors.
double clear_difference(const MeanSd& ours, const MeanSd& reference);
/// Whether a mean lower bound lies above another.
std::string compare_bounds(const Ends& ours, const MeanSd& reference);

}  // namespace magva::experiments
