#include "table/cell.hpp"

#include <fast_float/fast_float.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace magva::input {

namespace {
constexpr std::array<std::string_view, 13> kMissing = {"",    "NA",   "N/A",  "n/a",  "#N/A", "NaN", "nan",
                                                       "NAN", "NULL", "null", "None", "?",    "."};

bool is_missing(std::string_view text) {
  return std::find(kMissing.begin(), kMissing.end(), text) != kMissing.end();
}
}  // namespace

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

Cell read_cell(std::string_view text) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  text = trim(text);
  if (is_missing(text)) return {CellKind::missing, kNone};
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const char* begin = text.data() + (plus ? 1 : 0);
  const char* end = text.data() + text.size();
  double value = 0;
  const auto result = fast_float::from_chars(begin, end, value);
  const bool parsed = result.ec == std::errc() || result.ec == std::errc::result_out_of_range;
  if (!parsed || result.ptr != end) return {CellKind::text, kNone};
  if (!std::isfinite(value)) return {CellKind::not_finite, kNone};
  return {CellKind::number, value};
}

}  // namespace magva::input
