#include "results/text_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "magva/error.hpp"

namespace magva::results {

namespace {

[[noreturn]] void refuse_write(const std::filesystem::path& path, int error) {
  const char* advice = error == ENOSPC || error == EDQUOT ? "; make room on that disk" : "";
  throw IoError(fmt::format("cannot write '{}': {}{}", path.string(), std::strerror(error), advice));
}

/// Removed unless it was renamed.
struct Temporary {
  std::filesystem::path path;
  ~Temporary() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

}  // namespace

std::string read_text(const std::filesystem::path& path) {
  std::error_code is_folder;
  if (std::filesystem::is_directory(path, is_folder))
    throw IoError(fmt::format("cannot read '{}': it is a folder", path.string()));
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream content;
  if (in && in.peek() != std::ifstream::traits_type::eof()) content << in.rdbuf();
  if (!in.is_open() || in.bad())
    throw IoError(
        fmt::format("cannot read '{}': {}", path.string(), std::strerror(errno == 0 ? EIO : errno)));
  return content.str();
}

void write_text(const std::filesystem::path& path, const std::function<void(std::ostream&)>& fill) {
  Temporary temporary{path};
  temporary.path += fmt::format(".{}.part", ::getpid());
  errno = 0;
  std::ofstream out(temporary.path, std::ios::binary | std::ios::trunc);
  if (!out) refuse_write(path, errno == 0 ? EIO : errno);
  fill(out);
  out.close();
  if (!out) refuse_write(path, errno == 0 ? EIO : errno);
  std::error_code error;
  std::filesystem::rename(temporary.path, path, error);
  if (error) refuse_write(path, error.value());
}

}  // namespace magva::results
