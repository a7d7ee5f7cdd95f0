#include "table/gzip_source.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>

#include "magva/error.hpp"

namespace magva::input {

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

}  // namespace magva::input
