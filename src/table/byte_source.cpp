#include "table/byte_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "magva/error.hpp"
#include "table/message.hpp"

namespace magva::table {

std::string source_name(const std::string& path) { return path == "-" ? "standard input" : path; }

FileSource::FileSource(const std::string& path) : path_(source_name(path)) {
  if (path == "-") {
    descriptor_ = STDIN_FILENO;
  } else {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw IoError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
    owned_ = true;
  }
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0) return;
  if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
  if (!S_ISDIR(status.st_mode)) return;
  if (owned_) ::close(descriptor_);
  throw IoError(fmt::format("'{}' is a folder where a file with data is needed", path_));
}

FileSource::~FileSource() {
  if (owned_) ::close(descriptor_);
}

std::size_t FileSource::read(char* buffer, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(descriptor_, buffer, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) throw IoError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
  }
}

MemorySource::MemorySource(std::string_view bytes, std::size_t piece) : bytes_(bytes), piece_(piece) {}

std::size_t MemorySource::read(char* buffer, std::size_t size) {
  const std::size_t got = std::min({size, piece_, bytes_.size() - position_});
  std::copy_n(bytes_.data() + position_, got, buffer);
  position_ += got;
  return got;
}

std::size_t DigestingSource::read(char* buffer, std::size_t size) {
  const std::size_t got = inner_->read(buffer, size);
  sha_.update(buffer, got);
  return got;
}

std::string DigestingSource::finish() {
  std::array<char, 4096> rest{};
  while (read(rest.data(), rest.size()) > 0) {
  }
  return sha_.hex();
}

namespace {
constexpr std::size_t kBuffer = std::size_t{1} << 16U;
constexpr int kGzipOnly = 15 + 16;  // zlib's window bits, with a gzip wrapper
}  // namespace

struct MaybeGzipSource::Inflater {
  z_stream stream{};
  bool between_members = true;

  Inflater() {
    if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

MaybeGzipSource::MaybeGzipSource(ByteSource& inner, std::string name)
    : inner_(inner), name_(std::move(name)), compressed_(kBuffer) {
  while (end_ < 2 && !inner_ended_) refill();
  const bool magic = end_ >= 2 && compressed_[0] == '\x1f' && compressed_[1] == '\x8b';
  if (magic) inflater_ = std::make_unique<Inflater>();
}

MaybeGzipSource::~MaybeGzipSource() = default;

std::optional<std::uint64_t> MaybeGzipSource::size() const {
  return inflater_ ? std::nullopt : inner_.size();
}

void MaybeGzipSource::refill() {
  if (begin_ == end_) begin_ = end_ = 0;
  const std::size_t got = inner_.read(compressed_.data() + end_, compressed_.size() - end_);
  inner_ended_ = got == 0;
  end_ += got;
}

std::size_t MaybeGzipSource::read(char* buffer, std::size_t size) {
  return inflater_ ? inflate_some(buffer, size) : read_plain(buffer, size);
}

std::size_t MaybeGzipSource::read_plain(char* buffer, std::size_t size) {
  if (begin_ == end_) return inner_.read(buffer, size);
  const std::size_t got = std::min(size, end_ - begin_);
  std::copy_n(compressed_.data() + begin_, got, buffer);
  begin_ += got;
  return got;
}

std::size_t MaybeGzipSource::inflate_some(char* buffer, std::size_t size) {
  z_stream& stream = inflater_->stream;
  const auto room = static_cast<uInt>(std::min<std::size_t>(size, std::size_t{1} << 30U));
  stream.next_out = reinterpret_cast<Bytef*>(buffer);
  stream.avail_out = room;
  while (stream.avail_out == room) {
    if (begin_ == end_ && !inner_ended_) refill();
    if (begin_ == end_) {
      if (inflater_->between_members) return 0;
      throw DataError(fmt::format("{}: the gzip data end too early; the file is incomplete", name_));
    }
    inflater_->between_members = false;
    stream.next_in = reinterpret_cast<Bytef*>(compressed_.data() + begin_);
    stream.avail_in = static_cast<uInt>(end_ - begin_);
    const int status = inflate(&stream, Z_NO_FLUSH);
    begin_ = end_ - stream.avail_in;
    if (status == Z_STREAM_END) {
      // A gzip file may be several, one after the other.
      inflateReset(&stream);
      inflater_->between_members = true;
    } else if (status != Z_OK) {
      throw DataError(fmt::format("{}: the gzip data are damaged", name_));
    }
  }
  return room - stream.avail_out;
}

namespace {
SHA256_CTX* digest(void* context) { return static_cast<SHA256_CTX*>(context); }

}  // namespace

// OpenSSL 3 would rather have its EVP interface called, which loads a configuration and providers for some
// thousand allocations, and ends in a null pointer if one of them fails. These ask for none.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

void Sha256::Release::operator()(void* context) const { delete digest(context); }

Sha256::Sha256() : context_(new SHA256_CTX) { SHA256_Init(digest(context_.get())); }

void Sha256::update(const char* bytes, std::size_t size) {
  SHA256_Update(digest(context_.get()), bytes, size);
}

std::string Sha256::hex() {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> bytes{};
  SHA256_Final(bytes.data(), digest(context_.get()));
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 0xFU];
  }
  return text;
}

#pragma GCC diagnostic pop

std::string sha256_of_file(const std::string& path) {
  FileSource file(path);
  Sha256 sha;
  std::vector<char> buffer(std::size_t{1} << 18U);
  while (const std::size_t got = file.read(buffer.data(), buffer.size())) sha.update(buffer.data(), got);
  return sha.hex();
}

std::string sha256_of_text(std::string_view text) {
  Sha256 sha;
  sha.update(text.data(), text.size());
  return sha.hex();
}

TextWindow::TextWindow(ByteSource& source, std::string name, std::size_t max_record)
    : source_(source),
      name_(std::move(name)),
      max_record_(max_record),
      buffer_(std::min(kInitialBytes, max_record + 4)) {
  fill();
  const std::string_view start(begin(), end_);
  if (start.starts_with("\xEF\xBB\xBF")) begin_ = 3;
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF"))
    throw DataError(fmt::format("{} is written in UTF-16; save it as UTF-8", name_));
  check_no_nul(0);
}

void TextWindow::fill() {
  while (end_ < buffer_.size() && !ended_) {
    const std::size_t got = source_.read(buffer_.data() + end_, buffer_.size() - end_);
    ended_ = got == 0;
    end_ += got;
  }
}

void TextWindow::check_no_nul(std::size_t from) const {
  const void* nul = std::memchr(buffer_.data() + from, 0, end_ - from);
  if (nul == nullptr) return;
  const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(nul) - buffer_.data());
  throw DataError(fmt::format("{} is not a text file: byte {} is NUL", name_, bytes_before_ + offset + 1));
}

void TextWindow::more(std::int64_t line) {
  const std::size_t kept = end_ - begin_;
  if (kept >= max_record_)
    throw DataError(fmt::format(
        "{}: longer than {} bytes, which no record may be; is a line end or closing quote missing?",
        place(name_, files(), line), max_record_));
  bytes_before_ += begin_;
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  begin_ = 0;
  end_ = kept;
  if (kept > buffer_.size() / 2) buffer_.resize(std::min(2 * buffer_.size(), max_record_ + 4));
  fill();
  check_no_nul(kept);
}

}  // namespace magva::table
