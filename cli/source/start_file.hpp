#pragma once
#include <string>

#include "magva/model.hpp"

namespace magva::source {

/// The model's own start, with the coordinates that a JSON object {"name": value, ...} gives set to these
/// values.
Vector read_start_file(const Model& model, const std::string& file);

}  // namespace magva::source
