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

JoinedSource::JoinedSource(std::vector<std::string> files)
    : files_(std::move(files)), next_(0), end_(files_.size()) {}
JoinedSource::JoinedSource(std::vector<std::string> files, Range some)
    : files_(std::move(files)),
      next_(static_cast<std::size_t>(some.begin)),
      end_(static_cast<std::size_t>(some.end)) {
  if (some.begin > 0 || some.end == some.begin) take_first_header();
}
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

void JoinedSource::take_first_header() {
  part_ = std::make_unique<Part>(files_.front());
  header_ = take_header();
  has_header_ = !looks_like_libsvm(header_);
  part_.reset();
  pending_ = has_header_ ? header_ + '\n' : std::string();
  starts_.push_back({1, files_.front(), 1});
}

bool JoinedSource::open_next() {
  if (next_ == end_) return false;
  const std::size_t number = next_++;
  const std::string& file = files_[number];
  part_ = std::make_unique<Part>(file);
  const std::string first = take_header();
  if (number == 0) {
    header_ = first;
    has_header_ = !looks_like_libsvm(first);
  } else if (has_header_ && first != header_) {
    throw DataError(fmt::format(
        "'{}' has another header than '{}': files that are parts of one table begin with the same", file,
        files_.front()));
  }
  const bool with_first_line = number == 0 || !has_header_;
  if (with_first_line) pending_.insert(0, first + '\n');
  const bool unended = last_ != '\n';
  if (unended) pending_.insert(0, 1, '\n');
  starts_.push_back({lines_ + (unended ? 2 : 1), file, with_first_line ? 1 : 2});
  return true;
}

/// As FieldCursor does: LF, CR LF, or CR alone.
void JoinedSource::count_lines(const char* text, std::size_t size) {
  lines_ += std::count(text, text + size, '\n');
  for (const char* at = text; (at = std::find(at, text + size, '\r')) != text + size; ++at) ++lines_;
  const auto pair = [](char a, char b) { return a == '\r' && b == '\n'; };
  if (pair(last_, *text)) --lines_;
  for (const char* at = text; (at = std::adjacent_find(at, text + size, pair)) != text + size; ++at) --lines_;
  last_ = text[size - 1];
}

std::size_t JoinedSource::read(char* buffer, std::size_t size) {
  for (;;) {
    std::size_t got = pending_.copy(buffer, size);
    pending_.erase(0, got);
    if (got == 0 && part_) got = part_->text.read(buffer, size);
    if (got > 0) {
      count_lines(buffer, got);
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
