#pragma once
// Keyword arguments, by the program's table of options.
#include <string>
#include <vector>

#include "options/values.hpp"

namespace magva::python {

/// The options of `magva fit` from a JSON object of names and values.
options::Values parse_options(const std::string& json);

/// A message of the program in Python's words: --prior-variance is prior_variance, and a table in memory has
/// rows, not lines.
std::string with_keywords(const std::string& message);

}  // namespace magva::python
