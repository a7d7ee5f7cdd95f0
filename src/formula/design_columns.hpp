#pragma once
// What the rows of a fit say about the columns of its design: which of them are left out, and how the others
// are centred and scaled.
#include <span>
#include <string>
#include <vector>

#include "magva/formula_design.hpp"
#include "table/table_ranks.hpp"

namespace magva::formula {

/// Leaves out columns that are constant in the rows of all ranks, which the intercept stands for, and
/// duplicates, with notes.
void leave_out_columns(const table::Table& table, std::span<const Index> rows, const table::TableRanks& ranks,
                       FormulaSpec& spec, std::vector<std::string>& notes);

/// Moments of the columns over all ranks, by which this rank's rows are then centred and scaled. Without an
/// intercept nothing is centred: that would change the model. Smooth terms have mean 0 already.
void centre_design(const LearnOptions& options, const table::TableRanks& ranks, LearntFormula& learnt);

}  // namespace magva::formula
