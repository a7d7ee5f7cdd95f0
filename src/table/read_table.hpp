#pragma once
// From a path to a table: the one function that the commands call.
#include <string>

#include "table/byte_source.hpp"
#include "table/read_options.hpp"
#include "table/table.hpp"

namespace magva::input {

/// Reads a CSV, TSV or LIBSVM file, plain or gzipped; "-" is standard input. Throws UsageError for options
/// that cannot be meant, IoError for a file that cannot be read and DataError for content that cannot be
/// used.
Table read_table(const std::string& path, const ReadOptions& options = {});

/// The same from any bytes; `path` gives the name in messages and, by its extension, the format.
Table read_table(ByteSource& bytes, const std::string& path, const ReadOptions& options = {});

}  // namespace magva::input
