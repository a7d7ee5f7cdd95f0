#pragma once
#include <string>
#include <vector>

#include "options/values.hpp"

namespace magva::source {

/// UsageError where one of these options was given: they have no meaning `where`.
void refuse_options(const options::Values& values, const std::vector<std::string>& options,
                    const std::string& where);

/// The options by which a table is read and coded.
std::vector<std::string> coding_options();

}  // namespace magva::source
