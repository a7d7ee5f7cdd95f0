#pragma once
// Parts of the sentences that readers say about bad input.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace magva::input {

/// A cell's content as a message shows it: on one line, printable, cut after some forty bytes.
std::string excerpt(std::string_view text);

/// "data.csv, line 12" and "data.csv, line 12, column 'age'".
std::string place(std::string_view source, std::int64_t line);
std::string place(std::string_view source, std::int64_t line, std::string_view column);

/// "'a', 'b', 'c' and 4 more".
std::string name_list(const std::vector<std::string>& names, std::size_t shown = 5);

}  // namespace magva::input
