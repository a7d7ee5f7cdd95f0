#pragma once
#include <string>

#include "table/read_options.hpp"
#include "table/text_window.hpp"

namespace magva::input {

struct TableLayout {
  Format format = Format::csv;  ///< csv or libsvm
  char separator = ',';         ///< of csv
};

/// By the options; where they leave it open by the path's extension, and then by the first line.
TableLayout table_layout(const std::string& path, const TextWindow& window, const ReadOptions& options);

}  // namespace magva::input
