#pragma once
// Data in several files, named by a pattern: part-*.csv, part-*.magva.
#include <memory>
#include <string>
#include <vector>

#include "magva/workers.hpp"
#include "table/byte_source.hpp"

namespace magva::table {

/// Whether a path has one of * ? [ and is not itself a file's name.
bool is_pattern(const std::string& path);

/// The files whose names match, in the order of their names. Throws IoError if there are none.
std::vector<std::string> matching_files(const std::string& pattern);

/// A table in several files as one: their lines in order, each file decompressed if it is gzipped, with the
/// header of the first. Throws DataError if another file's header is a different one. Of `some` files, if not
/// all are wanted, the first file's header comes before their lines, too.
class JoinedSource final : public ByteSource {
 public:
  explicit JoinedSource(std::vector<std::string> files);
  JoinedSource(std::vector<std::string> files, Range some);
  ~JoinedSource() override;
  std::size_t read(char* buffer, std::size_t size) override;
  std::vector<FileStart> files() const override { return starts_; }

 private:
  struct Part;
  bool open_next();
  std::string take_header();
  void take_first_header();
  void count_lines(const char* text, std::size_t size);

  std::vector<std::string> files_;
  std::size_t next_, end_;
  std::unique_ptr<Part> part_;
  std::string header_;
  bool has_header_ = true;
  std::string pending_;     // read from the part, or to be put before it, and not handed out yet
  char last_ = '\n';        // that was handed out
  std::int64_t lines_ = 0;  // that ended in what was handed out
  std::vector<FileStart> starts_;
};

/// The bytes of a file, or of all files that a pattern names.
std::unique_ptr<ByteSource> open_bytes(const std::string& path);

}  // namespace magva::table
