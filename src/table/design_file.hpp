#pragma once
// Design files: opened by mapping them into memory, written part by part.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/atomic_file.hpp"
#include "magva/regression.hpp"
#include "magva/table.hpp"
#include "magva/types.hpp"
#include "table/byte_source.hpp"
#include "table/design_file_header.hpp"
#include "table/duplicate_columns.hpp"

namespace magva::design_file {

/// A file's bytes, mapped read-only: pages come from disk when they are read, and go again when memory is
/// short.
class MappedFile {
 public:
  /// IoError if it cannot be read.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }
  /// Says that the bytes will be read from the first to the last, and can be let go behind.
  void expect_sequential_reads() const;
  /// Says that they will be read in any order.
  void expect_scattered_reads() const;

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A design file, mapped and checked.
struct DesignFile {
  Header header;
  Design design;  ///< looks at the mapped file
  Vector response;
  Vector weights;  ///< empty if there are none
  std::shared_ptr<const MappedFile> file;
};

/// Reads the file once to check it against its digests. IoError or DataError if it cannot be used.
DesignFile open(const std::string& path);

/// What ties a fit to its data: the digest of a design file's header, or of any other file's bytes; of all
/// files that a pattern names.
std::string data_digest(const std::string& path);

/// The values in single precision. DataError, naming the column, if one is too large for that.
SingleRowMatrix single_precision(const RowMatrix& x, const table::DesignSpec& spec);

/// Writes a design file part by part, under a temporary name until it is whole. Holds one part in memory.
class Writer {
 public:
  /// `header.rows` rows must follow. Throws IoError if the file cannot be written.
  Writer(const std::string& path, Header header);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// The next rows. DataError if a number is too large for float32.
  void append(const table::EncodedRows& part);
  /// The columns that equal an earlier one in all rows so far.
  std::vector<table::Duplicate> duplicates() const;
  /// The rows so far, read back from the file, some at a time.
  void for_each_part(const std::function<void(table::EncodedRows part)>& use) const;
  /// Completes the header and gives the file its name.
  void commit();

 private:
  struct SectionWriter {
    std::uint64_t offset;
    table::Sha256 sha;
  };
  void write(SectionWriter& to, const void* data, std::size_t size);
  void write_at(std::uint64_t offset, const void* data, std::size_t size);
  void append_singles(const RowMatrix& x);
  bool equal_columns(Index a, Index b) const;

  io::AtomicFile file_;
  Header header_;
  int descriptor_;
  SectionWriter response_, weights_, matrix_;
  table::ColumnHashes hashes_;
  Index rows_ = 0;
};

}  // namespace magva::design_file
