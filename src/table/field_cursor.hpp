#pragma once
// Takes one record apart, field by field (RFC 4180; a lone CR ends a line too; quotes inside an unquoted
// field are literal).
#include <cstdint>
#include <string>
#include <string_view>

namespace magva::input {

/// What came after the field that was read last.
enum class FieldEnd {
  separator,
  record,       ///< a line end or the end of the text
  starved,      ///< the window's end: read more and start the record again
  after_quote,  ///< a character that may not follow a closing quote
  open_quote    ///< the text ended inside quotes
};

class FieldCursor {
 public:
  /// `last`: no text follows `end`.
  FieldCursor(const char* begin, const char* end, bool last, char separator)
      : position_(begin), end_(end), last_(last), separator_(separator) {}

  const char* position() const { return position_; }
  const char* end() const { return end_; }
  std::int64_t lines() const { return lines_; }  ///< line ends passed, those within quotes included

  /// The next field's content, good until the next call.
  FieldEnd next(std::string_view& content) {
    return position_ != end_ && *position_ == '"' ? next_quoted(content) : next_plain(content);
  }
  /// Steps over a field that ends at `field_end`, where one does: for callers that found the end themselves.
  bool step_over(const char* field_end, FieldEnd& what) {
    if (field_end == end_) {
      what = end_of_text();
      return true;
    }
    if (*field_end == separator_) {
      position_ = field_end + 1;
      what = FieldEnd::separator;
      return true;
    }
    if (*field_end != '\n' && *field_end != '\r') return false;
    what = line_end(field_end);
    return true;
  }

 private:
  FieldEnd end_of_text() {
    if (!last_) return FieldEnd::starved;
    position_ = end_;
    ++lines_;
    return FieldEnd::record;
  }
  FieldEnd line_end(const char* at) {
    if (*at == '\r' && at + 1 == end_ && !last_) return FieldEnd::starved;
    const bool pair = *at == '\r' && at + 1 != end_ && at[1] == '\n';
    position_ = at + (pair ? 2 : 1);
    ++lines_;
    return FieldEnd::record;
  }
  FieldEnd next_plain(std::string_view& content);
  FieldEnd next_quoted(std::string_view& content);

  const char* position_;
  const char* end_;
  bool last_;
  char separator_;
  std::int64_t lines_ = 0;
  std::string unescaped_;
};

}  // namespace magva::input
