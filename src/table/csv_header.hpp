#pragma once
#include <string>
#include <vector>

#include "table/read_options.hpp"
#include "table/text_window.hpp"

namespace magva::input {

struct CsvHeader {
  std::vector<std::string> names;
  std::int64_t lines = 0;  ///< that it takes in the file
};

/// Reads the first record as column names and checks that they can be used: each there, none twice, not all
/// numbers.
CsvHeader read_csv_header(TextWindow& window, const std::string& source_name, char separator,
                          const ReadOptions& options);

}  // namespace magva::input
