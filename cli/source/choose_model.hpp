#pragma once
#include <string>

#include "table/column_summary.hpp"
#include "table/table.hpp"

namespace magva::source {

struct ModelChoice {
  std::string model;
  std::string reason;  ///< a sentence for the user
};

/// The model that a response asks for: two different values or text, logistic; counts of which at least one
/// is zero, Poisson; other numbers, linear.
ModelChoice choose_model(const input::Column& response, const input::ResponseSummary& values);

}  // namespace magva::source
