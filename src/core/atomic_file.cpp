#include "core/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

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

constexpr int kMostLinks = 40;  // as the kernel has it

/// Standard output, under any of its names.
bool is_standard_output(const std::filesystem::path& path) {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

/// A new folder that nobody else can write to, for what is to be copied into a pipe or device.
std::filesystem::path private_folder() {
  std::error_code ignored;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(ignored);
  std::string name = ((parent.empty() ? "/tmp" : parent) / "magva-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw write_error(name, errno);
  return name;
}

/// A name that is not taken: what a stranger may have put there, a link for example, is removed.
std::filesystem::path free_name(const std::filesystem::path& file, bool stream) {
  if (stream) return private_folder() / "content";
  std::filesystem::path name = temporary_name(file);
  std::error_code ignored;
  std::filesystem::remove(name, ignored);
  return name;
}

void write_into_stream(const std::filesystem::path& path, const std::function<void(std::ostream&)>& fill) {
  errno = 0;
  if (is_standard_output(path)) {
    fill(std::cout);
    if (!std::cout.flush()) throw write_error("standard output", last_error());
    return;
  }
  std::ofstream out(path, std::ios::binary | std::ios::app);  // which truncates nothing
  if (out) fill(out);
  out.close();
  if (!out) throw write_error(path, last_error());
}

}  // namespace

bool is_stream(const std::filesystem::path& path) {
  const std::string text = path.string();
  if (is_standard_output(path) || text.starts_with("/dev/fd/") || text.starts_with("/proc/self/fd/"))
    return true;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

std::filesystem::path follow_links(const std::filesystem::path& path) {
  std::filesystem::path at = path;
  std::error_code error;
  for (int k = 0; k < kMostLinks && std::filesystem::is_symlink(at, error); ++k) {
    const std::filesystem::path target = std::filesystem::read_symlink(at, error);
    if (error) break;
    at = target.is_absolute() ? target : at.parent_path() / target;
  }
  return at;
}

void flush_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

IoError write_error(const std::filesystem::path& file, int error_number) {
  const char* advice = "";
  if (error_number == ENOSPC || error_number == EDQUOT) advice = "; make room on that disk";
  if (error_number == ENOENT || error_number == EACCES)
    advice = "; check that its folder exists and may be written";
  return IoError(fmt::format("cannot write '{}': {}{}", file.string(), std::strerror(error_number), advice));
}

AtomicFile::AtomicFile(const std::filesystem::path& file)
    : stream_(is_stream(file)),
      file_(stream_ ? file : follow_links(file)),
      temporary_(free_name(file_, stream_)) {}

AtomicFile::~AtomicFile() {
  std::error_code ignored;
  std::filesystem::remove(temporary_, ignored);
  if (stream_) std::filesystem::remove(temporary_.parent_path(), ignored);
}

void AtomicFile::commit() {
  if (stream_) {
    std::ifstream in(temporary_, std::ios::binary);
    write_into_stream(file_, [&](std::ostream& out) {
      if (in.peek() != std::ifstream::traits_type::eof()) out << in.rdbuf();
    });
    return;
  }
  if (const int error = flush_to_disk(temporary_); error != 0) throw write_error(file_, error);
  std::error_code failed;
  const auto earlier = std::filesystem::status(file_, failed);
  if (std::filesystem::is_regular_file(earlier))
    std::filesystem::permissions(temporary_, earlier.permissions(), failed);  // as far as the system lets us
  std::filesystem::rename(temporary_, file_, failed);
  if (failed) throw write_error(file_, failed.value());
  flush_folder(file_.parent_path());
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
  if (is_stream(path)) return write_into_stream(path, fill);
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
