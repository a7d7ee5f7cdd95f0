#pragma once
// The left-hand side of a formula: what it is, and its values.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "magva/formula_design.hpp"
#include "table/table_ranks.hpp"

namespace magva::formula {

/// The form of a response, without having looked at data. Throws FormulaError.
FormulaResponse response_syntax(const Formula& formula);

/// Checks the rows of a fit, on all ranks, and learns classes and the coding of a status; says in notes what
/// stands for what.
void learn_response(FormulaResponse& response, const table::Table& table, std::span<const Index> rows,
                    const table::TableRanks& ranks, const std::string& positive_class,
                    std::vector<std::string>& notes);

/// Response, trials and status of some rows. Throws DataError for a row that the form or type does not allow.
void encode_response(const FormulaResponse& response, const table::Table& table, std::span<const Index> rows,
                     EncodedFormula& out);

/// The numbers of trials of rows whose successes are not known.
Vector encode_trials(const FormulaResponse& response, const table::Table& table, std::span<const Index> rows);

/// Columns that the response is made of.
std::vector<std::string> response_columns(const FormulaResponse& response);
/// Columns that the number of trials is made of; unset if the successes must be known, too.
std::optional<std::vector<std::string>> trials_columns(const FormulaResponse& response);

}  // namespace magva::formula
