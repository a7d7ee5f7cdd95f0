#include "table/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "magva/error.hpp"

namespace magva::design_file {

namespace {

/// Closed at the end: a mapping needs no open file.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

[[noreturn]] void refuse(const std::string& path) {
  throw IoError(fmt::format("cannot read '{}': {}", path, std::strerror(errno)));
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat status {};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) refuse(path);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  data_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.number, 0);
  if (data_ == MAP_FAILED) refuse(path);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

// Advice that the kernel cannot take is no fault.
void MappedFile::expect_sequential_reads() const {
  if (data_ != nullptr) ::madvise(data_, size_, MADV_SEQUENTIAL);
}

void MappedFile::expect_scattered_reads() const {
  if (data_ != nullptr) ::madvise(data_, size_, MADV_NORMAL);
}

}  // namespace magva::design_file
