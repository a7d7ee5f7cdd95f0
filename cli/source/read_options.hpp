#pragma once
#include "options/values.hpp"
#include "table/read_options.hpp"

namespace magva::source {

/// How the options of a command say that tables are to be read.
input::ReadOptions read_options(const options::Values& values);

}  // namespace magva::source
