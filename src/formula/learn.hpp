#pragma once
// Learning a formula from a table whose rows are spread over ranks.
#include "magva/formula_design.hpp"
#include "table/table_ranks.hpp"

namespace magva::formula {

/// choose_type() by the rows of all ranks.
TypeChoice choose_type(const Formula& formula, const table::Table& own, const table::TableRanks& ranks);

/// learn() from the rows of all ranks; encodes this rank's.
LearntFormula learn(const table::Table& own, const LearnOptions& options, const table::TableRanks& ranks);

}  // namespace magva::formula
