#pragma once
#include <memory>
#include <string>

#include "table/byte_source.hpp"
#include "table/read_options.hpp"
#include "table/table.hpp"
#include "table/text_window.hpp"

namespace magva::input {

/// Separated values with a header line, some rows at a time.
class CsvParts {
 public:
  CsvParts(TextWindow& window, const std::string& source_name, char separator, const ReadOptions& options);
  ~CsvParts();
  CsvParts(const CsvParts&) = delete;
  CsvParts& operator=(const CsvParts&) = delete;

  /// The next rows, at most so many, in place of those that `part` had: use the same table for every call.
  /// Its text columns know the levels of all parts so far. False where there are no more.
  bool next(Table& part, Index most_rows);
  Index columns() const;

 private:
  friend Table read_csv(TextWindow&, const std::string&, char, const ReadOptions&,
                        std::optional<std::uint64_t>);
  class Reader;
  std::unique_ptr<Reader> reader_;
};

/// Reads separated values with a header line. What a column is, is decided by its cells in the first mebibyte
/// (see CellCounts); a column with none there, by its first cell that is not missing. Blank lines are
/// skipped, except in a table of one column, where they are missing cells. The lines in messages are those on
/// which a record starts.
Table read_csv(TextWindow& window, const std::string& source_name, char separator, const ReadOptions& options,
               std::optional<std::uint64_t> source_bytes = std::nullopt);

}  // namespace magva::input
