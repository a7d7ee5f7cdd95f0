#include "core/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace magva::io {

namespace {

/// Unlike any other file that this or another process writes at the same time.
std::filesystem::path temporary_name(const std::filesystem::path& file) {
  static std::atomic<unsigned> count{0};
  std::filesystem::path name = file;
  name += fmt::format(".{}-{}.part", ::getpid(), count++);
  return name;
}

/// Some file systems cannot flush and say EINVAL, which is no failure to write.
int flush_to_disk(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int error = ::fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;
  ::close(descriptor);
  return error;
}

int last_error() { return errno == 0 ? EIO : errno; }

}  // namespace

IoError write_error(const std::filesystem::path& file, int error_number) {
  const char* advice = "";
  if (error_number == ENOSPC || error_number == EDQUOT) advice = "; make room on that disk";
  if (error_number == ENOENT || error_number == EACCES)
    advice = "; check that its folder exists and may be written";
  return IoError(fmt::format("cannot write '{}': {}{}", file.string(), std::strerror(error_number), advice));
}

AtomicFile::AtomicFile(std::filesystem::path file)
    : file_(std::move(file)), temporary_(temporary_name(file_)) {}

AtomicFile::~AtomicFile() {
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
}

void AtomicFile::commit() {
  if (const int error = flush_to_disk(temporary_); error != 0) throw write_error(file_, error);
  std::error_code failed;
  std::filesystem::rename(temporary_, file_, failed);
  if (failed) throw write_error(file_, failed.value());
}

std::string read_text(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw IoError(fmt::format("cannot read '{}': it is a folder", path.string()));
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (in && in.peek() != std::ifstream::traits_type::eof()) content << in.rdbuf();
  if (!in.is_open() || in.bad())
    throw IoError(fmt::format("cannot read '{}': {}", path.string(), std::strerror(last_error())));
  return content.str();
}

void write_text(const std::filesystem::path& path, const std::function<void(std::ostream&)>& fill) {
  AtomicFile file(path);
  errno = 0;
  std::ofstream out(file.temporary(), std::ios::binary | std::ios::trunc);
  if (!out) throw write_error(path, last_error());
  fill(out);
  out.close();
  if (!out) throw write_error(path, last_error());
  file.commit();
}

}  // namespace magva::io
