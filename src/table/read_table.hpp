#pragma once
// From bytes to a table: which format they have, and the whole table or some rows at a time.
#include <functional>
#include <memory>
#include <string>

#include "magva/table.hpp"
#include "table/byte_source.hpp"

namespace magva::table {

struct TableLayout {
  Format format = Format::csv;  ///< csv or libsvm
  char separator = ',';         ///< of csv
};

/// By the options; if they leave it open by the path's extension, and then by the first line.
TableLayout table_layout(const std::string& path, const TextWindow& window, const ReadOptions& options);

/// The table in any bytes; `path` gives the name in messages and, by its extension, the format.
Table read_table(ByteSource& bytes, const std::string& path, const ReadOptions& options = {});

/// A table that is read again and again, some rows at a time, so that it may be larger than memory.
class TableParts {
 public:
  using Use = std::function<void(const Table& part)>;

  virtual ~TableParts() = default;
  /// Calls `use` with all rows in their order. A part is good until the next one; the last, until the
  /// next time through.
  virtual void for_each(const Use& use) = 0;
  /// Of the file's bytes; known after the first time through.
  virtual std::string sha256() const = 0;
};

/// A CSV file, read anew each time. Throws UsageError for standard input and DataError for a LIBSVM file,
/// which can only be read whole.
std::unique_ptr<TableParts> csv_file_parts(const std::string& path, const ReadOptions& options);

/// A table that is in memory, as one part.
std::unique_ptr<TableParts> whole_table(Table table);

}  // namespace magva::table
