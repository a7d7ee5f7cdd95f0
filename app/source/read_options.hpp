#pragma once
#include "input/read_options.hpp"
#include "options/values.hpp"

namespace magva::source {

/// How the options of a command say that tables are to be read.
input::ReadOptions read_options(const options::Values& values);

}  // namespace magva::source
