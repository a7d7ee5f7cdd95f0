#pragma once
// Files that stand whole or not at all: written under a temporary name beside their own, flushed to disk,
// renamed. Every file that magva writes goes through here. A symbolic link is written through to its target;
// a pipe, a terminal or a device, which cannot be replaced, is written into.
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

#include "magva/error.hpp"

namespace magva::io {

/// Write to `temporary()`, then `commit()`. Without a commit, what was written is removed.
class AtomicFile {
 public:
  /// "-" is standard output.
  explicit AtomicFile(const std::filesystem::path& file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& file() const { return file_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  /// Call after closing the temporary file: flushes it to disk and gives it its name, or copies it into what
  /// is no regular file. Throws IoError.
  void commit();

 private:
  bool stream_;                 ///< no regular file
  std::filesystem::path file_;  ///< what is replaced: links have been followed
  std::filesystem::path temporary_;
};

/// Whether a path names standard output, or what exists there is neither a regular file nor a folder: it is
/// written into, and cannot be lost.
bool is_stream(const std::filesystem::path& path);

/// Where writing to the path would put a file: symbolic links are followed, also to what does not exist yet.
std::filesystem::path follow_links(const std::filesystem::path& path);

/// 'cannot write ...', with what the system says and what to do about it.
IoError write_error(const std::filesystem::path& file, int error_number);

/// Flushes the names in a folder to disk, as far as the file system can.
void flush_folder(const std::filesystem::path& folder);

/// IoError if it cannot be read.
std::string read_text(const std::filesystem::path& path);

/// Calls `fill` with a stream to an AtomicFile and commits it; a pipe or device gets the text as it comes.
/// Throws IoError, and leaves nothing behind, if that fails.
void write_text(const std::filesystem::path& path, const std::function<void(std::ostream&)>& fill);

}  // namespace magva::io
