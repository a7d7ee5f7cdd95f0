#pragma once
#include <cstddef>
#include <memory>
#include <string>

namespace magva::input {

/// SHA-256 of bytes that arrive piece by piece.
class Sha256 {
 public:
  Sha256();
  void update(const char* bytes, std::size_t size);
  /// Ends the digest: 64 lower-case hexadecimal digits. Call once.
  std::string hex();

 private:
  struct Release {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Release> context_;
};

/// The digest of a file's bytes as they lie on disk.
std::string sha256_of_file(const std::string& path);

}  // namespace magva::input
