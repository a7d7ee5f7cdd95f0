#pragma once
#include <string>
#include <vector>

#include "source/recipe.hpp"

namespace magva::prediction {

/// Rows to predict, as the model takes them.
struct NewRows {
  Design design;
  Vector response;             ///< empty where they have none
  std::vector<Index> numbers;  ///< in their file, from 0; empty: all of its rows
};

/// From a table, coded as the data of the fit were, or from a design file that is. Throws IoError or
/// DataError.
NewRows read_new_rows(const std::string& file, const source::Recipe& recipe, input::ReadOptions reading,
                      input::MissingPolicy missing);

}  // namespace magva::prediction
