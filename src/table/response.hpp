#pragma once
// How a response column becomes numbers: two classes as 0 and 1, real numbers, counts.
#include <string>
#include <vector>

#include "magva/table.hpp"
#include "table/learn_terms.hpp"

namespace magva::table {

struct ResponseChoice {
  ResponseKind kind;
  std::string reason;  ///< a sentence for the user
};

/// What a response is taken for: two different values or text, two classes (logistic regression); counts of
/// which at least one is zero, counts (Poisson); other numbers, real (linear).
ResponseChoice choose_response_kind(const Column& response, const ResponseSummary& values);

/// Checks the response column of a fit and decides which class is 0 and which is 1; says so in a note.
ResponseSpec learn_response(const std::string& source, const Column& column, const ResponseSummary& values,
                            ResponseKind kind, const std::string& positive_class,
                            std::vector<std::string>& notes);

/// The response of the given rows, as numbers. Throws DataError for a cell that the specification does not
/// allow.
Vector response_values(const ResponseSpec& spec, const Table& table, const Column& column,
                       const std::vector<Index>& rows);

/// Observation weights: not negative.
Vector weight_values(const Table& table, const Column& column, const std::vector<Index>& rows);
void check_weights_not_all_zero(const std::string& source, const std::string& column, double largest);

}  // namespace magva::table
