#pragma once
#include <string>

#include "magva/table.hpp"
#include "table/byte_source.hpp"

namespace magva::table {

/// Reads lines "label index:value index:value ..." with indices that count from 1 and increase; '#' starts a
/// comment, blank lines are skipped.
Table read_libsvm(TextWindow& window, const std::string& source_name, const ReadOptions& options);

/// Whether a line can be one of a LIBSVM file with at least one feature.
bool looks_like_libsvm(std::string_view line);

}  // namespace magva::table
