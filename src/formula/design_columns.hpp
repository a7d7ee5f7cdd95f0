#pragma once
// What the rows of a fit say about the columns of its design: which of them are left out, and how the others
// are centred and scaled.
#include <span>
#include <string>
#include <vector>

#include "magva/formula_design.hpp"

namespace magva::formula {

/// Leaves constant columns out, which the intercept stands for, and duplicates, with notes.
void leave_out_columns(const table::Table& table, std::span<const Index> rows, FormulaSpec& spec,
                       std::vector<std::string>& notes);

/// Moments of the columns, by which they are then centred and scaled. Without an intercept nothing is
/// centred: that would change the model. Smooth terms have mean 0 already.
void centre_design(const LearnOptions& options, LearntFormula& learnt);

}  // namespace magva::formula
