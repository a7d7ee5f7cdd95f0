#pragma once
#include <string>

#include "input/byte_source.hpp"
#include "input/read_options.hpp"
#include "input/table.hpp"
#include "input/text_window.hpp"

namespace magva::input {

/// Reads separated values with a header line. What a column is, is decided by its cells in the first mebibyte
/// (see CellCounts); a column with none there, by its first cell that is not missing. Blank lines are
/// skipped, except in a table of one column, where they are missing cells. The lines in messages are those on
/// which a record starts.
Table read_csv(TextWindow& window, const std::string& source_name, char separator, const ReadOptions& options,
               std::optional<std::uint64_t> source_bytes = std::nullopt);

}  // namespace magva::input
