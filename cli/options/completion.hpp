#pragma once
#include <string>

#include "options/option_spec.hpp"

namespace magva::options {

/// Scripts that complete commands, options and their values, made from the option table.
std::string bash_completion(const Program& program);
std::string zsh_completion(const Program& program);

}  // namespace magva::options
