#include "table/message.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "table/utf8.hpp"

namespace magva::input {

namespace {
constexpr std::size_t kShownBytes = 40;

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20U || c == 0x7F; }
}  // namespace

std::string excerpt(std::string_view text) {
  std::size_t length = std::min(text.size(), kShownBytes);
  while (length > 0 && length < text.size() && !starts_character(text[length])) --length;
  std::string shown(text.substr(0, length));
  const bool readable = is_utf8(shown);
  for (char& c : shown)
    if (is_control(c) || (!readable && static_cast<unsigned char>(c) >= 0x80U)) c = '?';
  return "'" + shown + (length < text.size() ? "...'" : "'");
}

std::string place(std::string_view source, std::int64_t line) {
  return fmt::format("{}, line {}", source, line);
}

std::string place(std::string_view source, std::int64_t line, std::string_view column) {
  return fmt::format("{}, line {}, column {}", source, line, excerpt(column));
}

std::string name_list(const std::vector<std::string>& names, std::size_t shown) {
  std::string list;
  const std::size_t count = names.size() <= shown + 1 ? names.size() : shown;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) list += i + 1 == names.size() ? " and " : ", ";
    list += excerpt(names[i]);
  }
  if (count < names.size()) list += fmt::format(" and {} more", names.size() - count);
  return list;
}

}  // namespace magva::input
