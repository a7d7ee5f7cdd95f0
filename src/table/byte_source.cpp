#include "table/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "magva/error.hpp"

namespace magva::input {

std::string source_name(const std::string& path) { return path == "-" ? "standard input" : path; }

FileSource::FileSource(const std::string& path) : path_(source_name(path)) {
  if (path == "-") {
    descriptor_ = STDIN_FILENO;
  } else {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw IoError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
    owned_ = true;
  }
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return;
  if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
  if (!S_ISDIR(status.st_mode)) return;
  if (owned_) ::close(descriptor_);
  throw IoError(fmt::format("'{}' is a folder where a file with data is needed", path_));
}

FileSource::~FileSource() {
  if (owned_) ::close(descriptor_);
}

std::size_t FileSource::read(char* buffer, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(descriptor_, buffer, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw IoError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
  }
}

MemorySource::MemorySource(std::string_view bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}

std::size_t MemorySource::read(char* buffer, std::size_t size) {
  const std::size_t got = std::min({size, piece_, bytes_.size() - position_});
  std::copy_n(bytes_.data() + position_, got, buffer);
  position_ += got;
  return got;
}

std::size_t DigestingSource::read(char* buffer, std::size_t size) {
  const std::size_t got = inner_->read(buffer, size);
  sha_.update(buffer, got);
  return got;
}

std::string DigestingSource::finish() {
  std::array<char, 4096> rest{};
  while (read(rest.data(), rest.size()) > 0) {
  }
  return sha_.hex();
}

}  // namespace magva::input
