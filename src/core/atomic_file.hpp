#pragma once
// Files that stand whole or not at all: written under a temporary name beside their own, flushed to disk,
// renamed. Every file that magva writes goes through here.
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

#include "magva/error.hpp"

namespace magva::io {

/// Write to `temporary()`, then `commit()`. Without a commit, what was written is removed.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& file() const { return file_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  /// Call after closing the temporary file: flushes it to disk and gives it its name. Throws IoError.
  void commit();

 private:
  std::filesystem::path file_;
  std::filesystem::path temporary_;
};

/// 'cannot write ...', with what the system says and what to do about it.
IoError write_error(const std::filesystem::path& file, int error_number);

/// IoError if it cannot be read.
std::string read_text(const std::filesystem::path& path);

/// Calls `fill` with a stream to an AtomicFile and commits it. Throws IoError, and leaves nothing behind, if
/// that fails.
void write_text(const std::filesystem::path& path, const std::function<void(std::ostream&)>& fill);

}  // namespace magva::io
