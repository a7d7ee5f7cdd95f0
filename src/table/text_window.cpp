#include "table/text_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "magva/error.hpp"
#include "table/message.hpp"

namespace magva::input {

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
  refuse_nul(0);
}

void TextWindow::fill() {
  while (end_ < buffer_.size() && !ended_) {
    const std::size_t got = source_.read(buffer_.data() + end_, buffer_.size() - end_);
    ended_ = got == 0;
    end_ += got;
  }
}

void TextWindow::refuse_nul(std::size_t from) const {
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
        place(name_, line), max_record_));
  bytes_before_ += begin_;
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  begin_ = 0;
  end_ = kept;
  if (kept > buffer_.size() / 2) buffer_.resize(std::min(2 * buffer_.size(), max_record_ + 4));
  fill();
  refuse_nul(kept);
}

}  // namespace magva::input
