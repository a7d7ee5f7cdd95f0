#pragma once
// How a response column becomes numbers: two classes as 0 and 1, real numbers, counts.
#include <string>
#include <vector>

#include "input/design_spec.hpp"
#include "input/table.hpp"

namespace magva::input {

/// Checks the response column of a fit and decides which class is 0 and which is 1; says so in a note.
ResponseSpec learn_response(const Table& table, const Column& column, const std::vector<Index>& rows,
                            ResponseKind kind, const std::string& positive_class,
                            std::vector<std::string>& notes);

/// The response of the given rows, as numbers. Throws DataError for a cell that the specification does not
/// allow.
Vector response_values(const ResponseSpec& spec, const Table& table, const Column& column,
                       const std::vector<Index>& rows);

/// Observation weights: not negative, not all zero.
Vector weight_values(const Table& table, const Column& column, const std::vector<Index>& rows);

}  // namespace magva::input
