#pragma once
// Binary files that are complete or refused. Layout, all little-endian:
//   a line of text "magva <kind> <version>\n", the payload, and 8 bytes: the FNV-1a hash of all before it.
// Numbers in the payload are 8 bytes each; strings and arrays are preceded by their length.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/atomic_file.hpp"
#include "magva/types.hpp"

namespace magva::io {

class ChecksummedWriter {
 public:
  ChecksummedWriter(std::filesystem::path path, std::string_view kind, int version);

  void integer(std::int64_t value);
  void number(double value);
  void text(std::string_view value);
  void matrix(ConstMatrixRef value);
  /// Appends the checksum and gives the file its name.
  void commit();

 private:
  void bytes(const void* data, std::size_t size);

  AtomicFile file_;
  std::ofstream out_;
  std::uint64_t hash_;
};

class ChecksummedReader {
 public:
  /// Reads and verifies the whole file: IoError if it cannot be read, DataError if it is not whole.
  ChecksummedReader(std::filesystem::path path, std::string_view kind, int version);
  /// Of a file's content; messages name `path`.
  ChecksummedReader(std::filesystem::path path, std::vector<char> content, std::string_view kind,
                    int version);

  std::int64_t integer();
  double number();
  std::string text();
  Matrix matrix();
  /// Of things that follow, of at least 8 bytes each.
  std::size_t count();
  [[noreturn]] void fail(std::string_view why) const;
  /// DataError unless all has been read.
  void finish() const;

 private:
  void bytes(void* data, std::size_t size);

  std::filesystem::path path_;
  std::vector<char> content_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
};

}  // namespace magva::io
