#pragma once
// "Did you mean": the name in a list that a misspelt one was probably meant to be.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace magva::input {

/// The name with the smallest edit distance (insert, delete, replace, swap neighbours; case counts half), the
/// first of several; nothing where none is near: more than a third of the letters, but at least one, would
/// have to change.
std::optional<std::string> nearest_name(std::string_view wanted, const std::vector<std::string>& names);

/// " (did you mean 'age'?)", or nothing where no name is near.
std::string suggestion(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace magva::input
