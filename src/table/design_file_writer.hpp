#pragma once
#include "results/whole_file.hpp"
#include "table/design.hpp"
#include "table/design_file_header.hpp"
#include "table/duplicate_columns.hpp"
#include "table/sha256.hpp"

namespace magva::design_file {

/// Writes a design file part by part, under a temporary name until it is whole. Holds one part in memory.
class Writer {
 public:
  /// `header.rows` rows must follow. Throws IoError where the file cannot be written.
  Writer(const std::string& path, Header header);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// The next rows. DataError where a number is too large for float32.
  void append(const input::Design& part);
  /// The columns that equal an earlier one in all rows so far.
  std::vector<input::Duplicate> duplicates() const;
  /// Completes the header and gives the file its name.
  void commit();

 private:
  struct SectionWriter {
    std::uint64_t offset;
    input::Sha256 sha;
  };
  void write(SectionWriter& to, const void* data, std::size_t size);
  void write_at(std::uint64_t offset, const void* data, std::size_t size);
  void append_singles(const RowMatrix& x);
  bool equal_columns(Index a, Index b) const;

  results::WholeFile file_;
  Header header_;
  int descriptor_;
  SectionWriter response_, weights_, matrix_;
  input::ColumnHashes hashes_;
  Index rows_ = 0;
};

}  // namespace magva::design_file
