#pragma once
// Where the bytes of a table come from: a file, standard input, memory; as they are, decompressed, or
// digested on the way.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "magva/table.hpp"

namespace magva::table {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Up to `size` bytes into `buffer`; 0 only at the end.
  virtual std::size_t read(char* buffer, std::size_t size) = 0;
  /// How many bytes there are in all, if that is known beforehand.
  virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
  /// Of several files, those whose lines have been read so far; empty if there is one.
  virtual std::vector<FileStart> files() const { return {}; }
};

class FileSource final : public ByteSource {
 public:
  /// "-" is standard input. Throws IoError if the file is missing, unreadable or a folder.
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

/// Passes bytes on and digests them.
class DigestingSource final : public ByteSource {
 public:
  explicit DigestingSource(std::unique_ptr<ByteSource> inner) : inner_(std::move(inner)) {}
  std::size_t read(char* buffer, std::size_t size) override;
  std::optional<std::uint64_t> size() const override { return inner_->size(); }
  std::vector<FileStart> files() const override { return inner_->files(); }
  /// The digest of all bytes: reads what nobody asked for yet. Call once.
  std::string finish();

 private:
  std::unique_ptr<ByteSource> inner_;
  Sha256 sha_;
};

/// What messages call the source: the path, or "standard input" for "-".
std::string source_name(const std::string& path);

/// The decompressed bytes of a source that starts with gzip's magic bytes, or the bytes themselves of one
/// that does not. `name` is what messages call the source. The inner source must outlive this one.
class MaybeGzipSource final : public ByteSource {
 public:
  MaybeGzipSource(ByteSource& inner, std::string name);
  ~MaybeGzipSource() override;
  std::size_t read(char* buffer, std::size_t size) override;
  std::optional<std::uint64_t> size() const override;
  std::vector<FileStart> files() const override { return inner_.files(); }

 private:
  struct Inflater;
  void refill();
  std::size_t read_plain(char* buffer, std::size_t size);
  std::size_t inflate_some(char* buffer, std::size_t size);

  ByteSource& inner_;
  std::string name_;
  std::vector<char> compressed_;
  std::size_t begin_ = 0, end_ = 0;
  bool inner_ended_ = false;
  std::unique_ptr<Inflater> inflater_;
};

/// The digest of a file's bytes as they lie on disk.
std::string sha256_of_file(const std::string& path);
std::string sha256_of_text(std::string_view text);

// The part of a text that a reader works on: whole records, sliding over the source; long records make it
// grow up to a limit.

class TextWindow {
 public:
  static constexpr std::size_t kInitialBytes = std::size_t{1} << 20U;

  /// Reads a first piece; skips a UTF-8 byte order mark. Throws DataError for UTF-16 and, then and later, for
  /// NUL bytes.
  TextWindow(ByteSource& source, std::string name, std::size_t max_record);

  const char* begin() const { return buffer_.data() + begin_; }
  const char* end() const { return buffer_.data() + end_; }
  bool empty() const { return begin_ == end_; }
  /// Nothing follows end().
  bool last() const { return ended_; }
  std::vector<FileStart> files() const { return source_.files(); }

  void consume_to(const char* position) { begin_ = static_cast<std::size_t>(position - buffer_.data()); }
  /// More bytes after end(); moves everything. Throws DataError, naming `line`, if the window is at its
  /// limit.
  void more(std::int64_t line);

 private:
  void fill();
  void check_no_nul(std::size_t from) const;

  ByteSource& source_;
  std::string name_;
  std::size_t max_record_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t bytes_before_ = 0;  ///< of the source, that the buffer has already lost
  bool ended_ = false;
};

}  // namespace magva::table
