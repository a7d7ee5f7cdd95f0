#pragma once
// Where the bytes of a table come from: a file, standard input, memory; as they are, decompressed, or
// digested on the way.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "table/sha256.hpp"

namespace magva::input {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Up to `size` bytes into `buffer`; 0 only at the end.
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
  /// How many bytes there are in all, where that is known beforehand.
  virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
};

class FileSource final : public ByteSource {
 public:
  /// "-" is standard input. Throws IoError where the file is missing, unreadable or a folder.
  explicit FileSource(const std::string& path);
  ~FileSource() override;
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  std::size_t read(char* buffer, std::size_t size) override;
  std::optional<std::uint64_t> size() const override { return size_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  bool owned_ = false;
  std::optional<std::uint64_t> size_;
};

/// Bytes that stay the caller's; handed out in pieces of at most `piece` bytes.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string_view bytes, std::size_t piece = static_cast<std::size_t>(-1));
  std::size_t read(char* buffer, std::size_t size) override;
  std::optional<std::uint64_t> size() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t piece_;
  std::size_t position_ = 0;
};

/// Passes bytes on and digests them.
class DigestingSource final : public ByteSource {
 public:
  explicit DigestingSource(std::unique_ptr<ByteSource> inner) : inner_(std::move(inner)) {}
  std::size_t read(char* buffer, std::size_t size) override;
  std::optional<std::uint64_t> size() const override { return inner_->size(); }
  /// The digest of all bytes: reads what nobody asked for yet. Call once.
  std::string finish();

 private:
  std::unique_ptr<ByteSource> inner_;
  Sha256 sha_;
};

/// What messages call the source: the path, or "standard input" for "-".
std::string source_name(const std::string& path);

}  // namespace magva::input
