#include "table/column_builder.hpp"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "magva/error.hpp"
#include "table/message.hpp"

namespace magva::table {

namespace {
struct Lead {
  std::size_t length;    ///< bytes of the whole character, 0 for a byte that starts none
  std::uint32_t bits;    ///< of the code point, from the lead byte
  std::uint32_t lowest;  ///< the first code point that needs this many bytes
};

Lead read_lead(unsigned char byte) {
  if (byte < 0x80U) return {1, byte, 0};
  if ((byte & 0xE0U) == 0xC0U) return {2, byte & 0x1FU, 0x80};
  if ((byte & 0xF0U) == 0xE0U) return {3, byte & 0x0FU, 0x800};
  if ((byte & 0xF8U) == 0xF0U) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

bool is_scalar_value(std::uint32_t point) { return point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF); }
}  // namespace

bool is_utf8(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    const Lead lead = read_lead(static_cast<unsigned char>(bytes[i]));
    if (lead.length == 0 || lead.length > bytes.size() - i) return false;
    std::uint32_t point = lead.bits;
    for (std::size_t k = 1; k < lead.length; ++k) {
      const auto byte = static_cast<unsigned char>(bytes[i + k]);
      if ((byte & 0xC0U) != 0x80U) return false;
      point = point << 6U | (byte & 0x3FU);
    }
    if (point < lead.lowest || !is_scalar_value(point)) return false;
    i += lead.length;
  }
  return true;
}

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

namespace {
constexpr double kMissingValue = std::numeric_limits<double>::quiet_NaN();

bool has_decimal_comma(std::string_view cell) {
  if (std::count(cell.begin(), cell.end(), ',') != 1) return false;
  std::string with_point(cell);
  std::replace(with_point.begin(), with_point.end(), ',', '.');
  return read_cell(with_point).kind == CellKind::number;
}
}  // namespace

void CellCounts::add(std::string_view cell) {
  const CellKind kind = read_cell(cell).kind;
  if (kind == CellKind::number || kind == CellKind::not_finite) ++numbers;
  if (kind != CellKind::text) return;
  ++texts;
  if (has_decimal_comma(cell)) ++decimal_commas;
}

std::optional<ColumnKind> CellCounts::majority() const {
  if (numbers + texts == 0) return std::nullopt;
  return numbers > texts ? ColumnKind::number : ColumnKind::text;
}

ColumnBuilder::ColumnBuilder(std::string name, std::optional<ColumnKind> kind) : kind_(kind) {
  column_.name = std::move(name);
}

double ColumnBuilder::value_of(std::string_view content, const std::function<std::string()>& where) {
  if (!kind_) {
    CellCounts counts;
    counts.add(content);
    kind_ = counts.majority();
  }
  if (!kind_) return kMissingValue;
  return kind_ == ColumnKind::number ? number_of(content, where) : level_of(content, where);
}

double ColumnBuilder::number_of(std::string_view content, const std::function<std::string()>& where) const {
  const Cell cell = read_cell(content);
  switch (cell.kind) {
    case CellKind::number:
      return cell.value;
    case CellKind::missing:
      return kMissingValue;
    case CellKind::not_finite:
      throw DataError(fmt::format(
          "{}: {} is not a finite number; correct it, or leave the cell empty and drop missing values",
          where(), excerpt(content)));
    case CellKind::text:
      break;
  }
  throw DataError(fmt::format(
      "{}: {} is not a number, as the column's other cells are; correct it, or read the column as "
      "text (--text {})",
      where(), excerpt(content), column_.name));
}

double ColumnBuilder::level_of(std::string_view content, const std::function<std::string()>& where) {
  const std::string_view text = trim(content);
  if (read_cell(text).kind == CellKind::missing) return kMissingValue;
  const auto known = level_numbers_.find(text);
  if (known != level_numbers_.end()) return static_cast<double>(known->second);
  if (!is_utf8(text))
    throw DataError(fmt::format("{}: {} is not UTF-8; save the file as UTF-8", where(), excerpt(text)));
  const auto number = static_cast<Index>(column_.levels.size());
  column_.levels.emplace_back(text);
  level_numbers_.emplace(std::string(text), number);
  return static_cast<double>(number);
}

void ColumnBuilder::hand_over(Column& to) {
  to.name = column_.name;
  to.kind = kind_.value_or(ColumnKind::number);
  std::swap(to.values, column_.values);
  column_.values.clear();
  to.levels.insert(to.levels.end(), column_.levels.begin() + static_cast<std::ptrdiff_t>(to.levels.size()),
                   column_.levels.end());
}

}  // namespace magva::table
