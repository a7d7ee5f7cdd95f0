#pragma once
#include <vector>

#include "options/option_spec.hpp"

namespace magva::commands {

/// The options of `magva fit`.
std::vector<options::OptionGroup> fit_option_groups();
/// Of `magva convert`: those of them that say how a table becomes a design.
std::vector<options::OptionGroup> convert_option_groups();
/// --missing, which other commands share.
options::OptionSpec missing_option();
options::OptionSpec level_option();
/// Those by which tables are read, which other commands share.
std::vector<options::OptionSpec> reading_options();

}  // namespace magva::commands
