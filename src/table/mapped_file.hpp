#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace magva::design_file {

/// A file's bytes, mapped read-only: pages come from disk when they are read, and go again when memory is
/// short.
class MappedFile {
 public:
  /// IoError where it cannot be read.
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

}  // namespace magva::design_file
