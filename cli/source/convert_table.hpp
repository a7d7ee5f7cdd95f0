#pragma once
#include <string>
#include <vector>

#include "magva/types.hpp"
#include "options/values.hpp"

namespace magva::source {

struct Converted {
  std::vector<std::string> notes;  ///< what was coded and dropped
  Index rows = 0;
  Index columns = 0;
};

/// Writes the design file that the options of `magva convert` describe. The table is read in parts, twice;
/// whole, where it must be: from standard input, and for discretisation.
Converted convert_table(const options::Values& values);

}  // namespace magva::source
