#include "core/checksummed_file.hpp"

#include <fmt/format.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "magva/error.hpp"

namespace magva::io {

namespace {

static_assert(std::endian::native == std::endian::little, "the file format is little-endian");

constexpr std::uint64_t kFnvOffset = 14695981039346656037U;
constexpr std::uint64_t kFnvPrime = 1099511628211U;

std::uint64_t fnv(std::uint64_t hash, const char* data, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<unsigned char>(data[i])) * kFnvPrime;
  return hash;
}

std::vector<char> content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (!in || error)
    throw IoError(fmt::format("cannot read '{}': {}", path.string(), error ? error.message() : "no access"));
  std::vector<char> content(size);
  in.read(content.data(), static_cast<std::streamsize>(size));
  if (!in) throw IoError(fmt::format("cannot read '{}': it ended early", path.string()));
  return content;
}

std::string header(std::string_view kind, int version) { return fmt::format("magva {} {}\n", kind, version); }

}  // namespace

ChecksummedWriter::ChecksummedWriter(std::filesystem::path path, std::string_view kind, int version)
    : file_(std::move(path)), hash_(kFnvOffset) {
  out_.open(file_.temporary(), std::ios::binary | std::ios::trunc);
  if (!out_) throw write_error(file_.file(), errno);
  const std::string line = header(kind, version);
  bytes(line.data(), line.size());
}

void ChecksummedWriter::bytes(const void* data, std::size_t size) {
  hash_ = fnv(hash_, static_cast<const char*>(data), size);
  out_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
}

void ChecksummedWriter::integer(std::int64_t value) { bytes(&value, sizeof value); }
void ChecksummedWriter::number(double value) { bytes(&value, sizeof value); }

void ChecksummedWriter::text(std::string_view value) {
  integer(static_cast<std::int64_t>(value.size()));
  bytes(value.data(), value.size());
}

void ChecksummedWriter::matrix(ConstMatrixRef value) {
  integer(value.rows());
  integer(value.cols());
  for (Index j = 0; j < value.cols(); ++j)
    bytes(value.col(j).data(), static_cast<std::size_t>(value.rows()) * sizeof(double));
}

void ChecksummedWriter::commit() {
  const std::uint64_t checksum = hash_;
  out_.write(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  out_.close();
  if (!out_) throw write_error(file_.file(), errno);
  file_.commit();
}

ChecksummedReader::ChecksummedReader(std::filesystem::path path, std::string_view kind, int version)
    : ChecksummedReader(path, content_of(path), kind, version) {}

ChecksummedReader::ChecksummedReader(std::filesystem::path path, std::vector<char> content,
                                     std::string_view kind, int version)
    : path_(std::move(path)), content_(std::move(content)) {
  const std::string expected = header(kind, version);
  const std::string_view whole(content_.data(), content_.size());
  const std::string stem = fmt::format("magva {} ", kind);
  if (!whole.starts_with(stem)) fail(fmt::format("it is not a magva {} file", kind));
  if (!whole.starts_with(expected))
    fail(fmt::format("it has another version than {}, the one this program reads", version));
  if (content_.size() < expected.size() + sizeof(std::uint64_t)) fail("it is truncated");
  end_ = content_.size() - sizeof(std::uint64_t);
  std::uint64_t checksum = 0;
  std::memcpy(&checksum, content_.data() + end_, sizeof checksum);
  if (checksum != fnv(kFnvOffset, content_.data(), end_)) fail("it is truncated or was altered");
  at_ = expected.size();
}

void ChecksummedReader::fail(std::string_view why) const {
  throw DataError(fmt::format("cannot use '{}': {}; make it again", path_.string(), why));
}

void ChecksummedReader::bytes(void* data, std::size_t size) {
  if (size > end_ - at_) fail("its content does not fit its kind");
  if (size > 0) std::memcpy(data, content_.data() + at_, size);
  at_ += size;
}

std::int64_t ChecksummedReader::integer() {
  std::int64_t value = 0;
  bytes(&value, sizeof value);
  return value;
}

double ChecksummedReader::number() {
  double value = 0;
  bytes(&value, sizeof value);
  return value;
}

std::string ChecksummedReader::text() {
  const std::int64_t size = integer();
  if (size < 0 || static_cast<std::size_t>(size) > end_ - at_) fail("its content does not fit its kind");
  std::string value(static_cast<std::size_t>(size), '\0');
  bytes(value.data(), value.size());
  return value;
}

Matrix ChecksummedReader::matrix() {
  const std::int64_t rows = integer();
  const std::int64_t cols = integer();
  const auto room = static_cast<std::int64_t>((end_ - at_) / sizeof(double));
  if (rows < 0 || cols < 0 || (cols > 0 && rows > room / cols)) fail("its content does not fit its kind");
  Matrix value(rows, cols);
  bytes(value.data(), static_cast<std::size_t>(rows * cols) * sizeof(double));
  return value;
}

std::size_t ChecksummedReader::count() {
  const std::int64_t number = integer();
  if (number < 0 || static_cast<std::size_t>(number) > (end_ - at_) / sizeof(std::int64_t))
    fail("its content does not fit its kind");
  return static_cast<std::size_t>(number);
}

void ChecksummedReader::finish() const {
  if (at_ != end_) fail("its content does not fit its kind");
}

}  // namespace magva::io
