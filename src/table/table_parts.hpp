#pragma once
// A table that is read again and again, some rows at a time, so that it may be larger than memory.
#include <functional>
#include <memory>
#include <string>

#include "table/read_options.hpp"
#include "table/table.hpp"

namespace magva::input {

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

}  // namespace magva::input
