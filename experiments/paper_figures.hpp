#pragma once
// The figures that the paper prints, to stand beside ours.
#include <optional>
#include <string>

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

}  // namespace magva::experiments
