#include "table/field_cursor.hpp"

#include <algorithm>

namespace magva::input {

FieldEnd FieldCursor::next_plain(std::string_view& content) {
  const char* at = position_;
  FieldEnd what{};
  const char* begin = position_;
  while (!step_over(at, what)) ++at;
  content = std::string_view(begin, static_cast<std::size_t>(at - begin));
  return what;
}

FieldEnd FieldCursor::next_quoted(std::string_view& content) {
  const char* begin = position_ + 1;
  unescaped_.clear();
  for (;;) {
    const char* quote = std::find(begin, end_, '"');
    if (quote == end_ || (quote + 1 == end_ && !last_))
      return last_ ? FieldEnd::open_quote : FieldEnd::starved;
    unescaped_.append(begin, quote);
    begin = quote + 1;
    if (begin == end_ || *begin != '"') break;
    unescaped_ += '"';
    ++begin;
  }
  FieldEnd what{};
  if (!step_over(begin, what)) return FieldEnd::after_quote;
  lines_ += std::count(unescaped_.begin(), unescaped_.end(), '\n');
  content = unescaped_;
  return what;
}

}  // namespace magva::input
