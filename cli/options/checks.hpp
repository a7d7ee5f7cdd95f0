#pragma once
// The checks that options share.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options/option_spec.hpp"

namespace magva::options {

/// The whole text as a number, or nothing.
std::optional<std::int64_t> to_integer(const std::string& text);
std::optional<double> to_number(const std::string& text);

Check integer_between(std::int64_t least, std::int64_t most);
Check positive_number();
/// One of the texts, or what `otherwise` accepts.
Check one_of(std::vector<std::string> texts, Check otherwise = {});

}  // namespace magva::options
