#pragma once
#include <string>

#include "options/option_spec.hpp"

namespace magva::options {

/// The manual page magva(1) in roff, made from the option table.
std::string man_page(const Program& program, const std::string& version);

}  // namespace magva::options
