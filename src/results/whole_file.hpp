#pragma once
// A file that stands whole or not at all.
#include <filesystem>

namespace magva::results {

/// Write to `temporary()`, beside the file, then `commit()`. Without it, what was written is removed.
class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path file);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  const std::filesystem::path& file() const { return file_; }
  const std::filesystem::path& temporary() const { return temporary_; }
  /// Gives the file its name; throws IoError where that cannot be.
  void commit();

 private:
  std::filesystem::path file_;
  std::filesystem::path temporary_;
};

}  // namespace magva::results
