#include "table/part_files.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "magva/error.hpp"
#include "table/libsvm_reader.hpp"

namespace magva::table {

bool is_pattern(const std::string& path) {
  std::error_code error;
  return path.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(path, error);
}

std::vector<std::string> matching_files(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t i = 0; i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (files.empty()) throw IoError(fmt::format("no file has a name like '{}'", pattern));
  std::sort(files.begin(), files.end());
  return files;
}

struct JoinedSource::Part {
  explicit Part(const std::string& path) : file(path), text(file, path) {}
  FileSource file;
  MaybeGzipSource text;
};

JoinedSource::JoinedSource(std::vector<std::string> files) : files_(std::move(files)) {}
JoinedSource::~JoinedSource() = default;

/// The part's first line, without its end; the bytes after it that were read with it stay in `pending_`.
std::string JoinedSource::take_header() {
  constexpr std::size_t kPiece = std::size_t{1} << 16U;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  std::string text;
  std::size_t end = std::string::npos;
  while (end == std::string::npos) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    const std::size_t got = part_->text.read(text.data() + before, kPiece);
    text.resize(before + got);
    end = got == 0 ? text.size() : text.find('\n', before);
  }
  pending_ = text.substr(std::min(text.size(), end + 1));
  text.resize(end);
  if (text.ends_with('\r')) text.pop_back();
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  return text;
}

bool JoinedSource::open_next() {
  if (next_ == files_.size()) return false;
  const std::string& file = files_[next_++];
  part_ = std::make_unique<Part>(file);
  const std::string first = take_header();
  if (next_ == 1) {
    header_ = first;
    has_header_ = !looks_like_libsvm(first);
  } else if (has_header_ && first != header_) {
    throw DataError(fmt::format(
        "'{}' has another header than '{}': files that are parts of one table begin with the same", file,
        files_.front()));
  }
  if (next_ == 1 || !has_header_) pending_.insert(0, first + '\n');
  if (last_ != '\n') pending_.insert(0, 1, '\n');
  return true;
}

std::size_t JoinedSource::read(char* buffer, std::size_t size) {
  for (;;) {
    std::size_t got = pending_.copy(buffer, size);
    pending_.erase(0, got);
    if (got == 0 && part_) got = part_->text.read(buffer, size);
    if (got > 0) {
      last_ = buffer[got - 1];
      return got;
    }
    if (!open_next()) return 0;
  }
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  if (is_pattern(path)) return std::make_unique<JoinedSource>(matching_files(path));
  return std::make_unique<FileSource>(path);
}

}  // namespace magva::table
