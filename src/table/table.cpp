#include "magva/table.hpp"

#include <algorithm>

#include "table/message.hpp"

namespace magva::table {

std::string Column::text(Index row) const {
  const double value = values[row];
  return kind == ColumnKind::text ? levels[static_cast<std::size_t>(value)] : number_text(value);
}

void LineMap::add(Index row, std::int64_t line) {
  const bool follows = !jumps_.empty() && jumps_.back().second + (row - jumps_.back().first) == line;
  if (!follows) jumps_.emplace_back(row, line);
}

std::int64_t LineMap::line_of(Index row) const {
  if (jumps_.empty()) return row + 1;
  const auto after = std::upper_bound(jumps_.begin(), jumps_.end(), row,
                                      [](Index wanted, const auto& jump) { return wanted < jump.first; });
  const auto& [first, line] = after == jumps_.begin() ? jumps_.front() : *std::prev(after);
  return line + (row - first);
}

const Column* Table::find(std::string_view name) const {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

std::string Table::place_of(Index row) const { return place(source, files, lines.line_of(row)); }

std::string Table::place_of(Index row, std::string_view column) const {
  return place(source, files, lines.line_of(row), column);
}

std::vector<std::string> Table::names() const {
  std::vector<std::string> all;
  for (const Column& column : columns) all.push_back(column.name);
  return all;
}

}  // namespace magva::table
