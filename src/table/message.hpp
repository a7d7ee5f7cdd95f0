#pragma once
// Parts of messages about data: places, excerpts, numbers, names that were probably meant.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "magva/table.hpp"
#include "magva/types.hpp"

namespace magva::table {

/// A cell's content as a message shows it: on one line, printable, cut after about forty bytes.
std::string excerpt(std::string_view text);

/// "data.csv, line 12" and "data.csv, line 12, column 'age'".
std::string place(std::string_view source, std::int64_t line);
std::string place(std::string_view source, std::int64_t line, std::string_view column);

/// The same of a line of all `files`; of `source` if there are none.
std::string place(std::string_view source, const std::vector<FileStart>& files, std::int64_t line);
std::string place(std::string_view source, const std::vector<FileStart>& files, std::int64_t line,
                  std::string_view column);

/// The shortest text that reads back to the same number: 1, -0.5, 1e+300.
std::string number_text(double value);
/// Names a LIBSVM feature by its index, which counts from 1.
std::string feature_name(Index index);

/// "'a', 'b', 'c' and 4 more".
std::string name_list(const std::vector<std::string>& names, std::size_t shown = 5);

/// "Did you mean": the name with the smallest edit distance (insert, delete, replace, swap neighbours; case
/// counts half), the first of several; nothing if none is near: more than a third of the letters, but at
/// least one, would have to change.
std::optional<std::string> nearest_name(std::string_view wanted, const std::vector<std::string>& names);

/// " (did you mean 'age'?)", or nothing if no name is near.
std::string suggestion(std::string_view wanted, const std::vector<std::string>& names);

}  // namespace magva::table
