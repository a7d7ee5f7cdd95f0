#pragma once
// The part of a text that a reader works on: whole records, sliding over the source; long records make it
// grow up to a limit.
#include <cstddef>
#include <string>
#include <vector>

#include "table/byte_source.hpp"

namespace magva::input {

class TextWindow {
 public:
  static constexpr std::size_t kInitialBytes = std::size_t{1} << 20U;

  /// Reads a first piece; skips a UTF-8 byte order mark. Throws DataError for UTF-16 and, then and later, for
  /// NUL bytes.
  TextWindow(ByteSource& source, std::string name, std::size_t max_record);

  const char* begin() const { return buffer_.data() + begin_; }
  const char* end() const { return buffer_.data() + end_; }
  bool empty() const { return begin_ == end_; }
  /// Nothing follows end().
  bool last() const { return ended_; }

  void consume_to(const char* position) { begin_ = static_cast<std::size_t>(position - buffer_.data()); }
  /// More bytes after end(); moves everything. Throws DataError, naming `line`, where the window is at its
  /// limit.
  void more(std::int64_t line);

 private:
  void fill();
  void refuse_nul(std::size_t from) const;

  ByteSource& source_;
  std::string name_;
  std::size_t max_record_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t bytes_before_ = 0;  ///< of the source, that the buffer has already lost
  bool ended_ = false;
};

}  // namespace magva::input
