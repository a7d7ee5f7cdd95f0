#pragma once
// Regressions on the rows of tables that ranks share: make_table_source and make_formula_source, called on
// all ranks. Each keeps its share of the rows.
#include "magva/formula_model.hpp"
#include "magva/model_source.hpp"
#include "table/shared_table.hpp"

namespace magva::source {

ModelSource make_shared_table_source(table::TableShare table, table::DesignOptions design,
                                     const RegressionOptions& options);
/// For formulas without groups, and responses without several classes.
ModelSource make_shared_formula_source(table::TableShare table, const FormulaOptions& options);

}  // namespace magva::source
