#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "table/table.hpp"

namespace magva::input {

enum class Format { automatic, csv, libsvm };

struct ReadOptions {
  Format format = Format::automatic;
  /// Of a CSV file; where it is not given: a tab for *.tsv and *.tab, otherwise the one of , ; tab | that the
  /// header has most of.
  std::optional<char> separator;
  std::vector<std::string> text_columns;  ///< read as text whatever they hold; must exist
  std::map<std::string, ColumnKind>
      column_kinds;  ///< of columns that may exist; takes the place of the majority rule
  std::size_t max_line_bytes = std::size_t{64} << 20U;
  Index max_columns = 10'000'000;
  bool digest = false;  ///< fill Table::sha256

  std::vector<std::string> problems() const;
};

}  // namespace magva::input
