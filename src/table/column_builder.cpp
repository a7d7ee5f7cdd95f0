#include "table/column_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "magva/error.hpp"
#include "table/message.hpp"
#include "table/utf8.hpp"

namespace magva::input {

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

}  // namespace magva::input
