#pragma once
// The steps by which rows are encoded that learning a formula shares with encoding new rows.
#include <span>
#include <string>
#include <vector>

#include "formula/row_encoder.hpp"
#include "magva/formula_design.hpp"

namespace magva::formula {

/// The columns of a table by name; DataError if one is missing.
std::vector<const table::Column*> find_columns(const table::Table& table,
                                               const std::vector<std::string>& names);

/// Names of the columns that the predictors, offsets and smooth terms of a learnt formula need, each once.
std::vector<std::string> predictor_columns(const FormulaSpec& spec);

/// The design of some rows without missing cells: fixed columns and basis functions, centred if the formula
/// has learnt its centre.
RowMatrix encode_design(const FormulaSpec& spec, const table::Table& table, std::span<const Index> rows);

/// The sum of the offsets; empty if there are none.
Vector encode_offset(const FormulaSpec& spec, const table::Table& table, std::span<const Index> rows);

/// Groups and what their effects multiply.
std::vector<EncodedGroup> encode_groups(const FormulaSpec& spec, const table::Table& table,
                                        std::span<const Index> rows);

}  // namespace magva::formula
