#include "input/complete_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "input/message.hpp"
#include "magva/error.hpp"

namespace magva::input {

namespace {
constexpr std::size_t kPlacesShown = 3;

struct MissingCells {
  Index count = 0;
  Index rows = 0;
  std::vector<bool> incomplete;                         ///< by row
  std::vector<std::pair<Index, const Column*>> places;  ///< at least the first few
};

MissingCells find_missing(const Table& table, const std::vector<const Column*>& used) {
  MissingCells missing;
  missing.incomplete.assign(static_cast<std::size_t>(table.rows), false);
  for (const Column* column : used) {
    std::size_t in_column = 0;
    for (Index row = 0; row < table.rows; ++row) {
      if (!column->missing(row)) continue;
      missing.incomplete[static_cast<std::size_t>(row)] = true;
      if (in_column++ < kPlacesShown) missing.places.emplace_back(row, column);
    }
    missing.count += static_cast<Index>(in_column);
  }
  missing.rows = std::count(missing.incomplete.begin(), missing.incomplete.end(), true);
  std::stable_sort(missing.places.begin(), missing.places.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  missing.places.resize(std::min(missing.places.size(), kPlacesShown));
  return missing;
}

[[noreturn]] void refuse(const Table& table, const MissingCells& missing) {
  std::string places;
  for (const auto& [row, column] : missing.places)
    places += fmt::format("{}line {}, column {}", places.empty() ? "" : "; ", table.lines.line_of(row),
                          excerpt(column->name));
  throw DataError(fmt::format(
      "{} has {} missing value{} in {} of {} rows ({}{}); fill them in, or leave these rows out with "
      "--missing drop",
      table.source, missing.count, missing.count == 1 ? "" : "s", missing.rows, table.rows, places,
      missing.count > static_cast<Index>(missing.places.size()) ? "; ..." : ""));
}
}  // namespace

std::vector<Index> complete_rows(const Table& table, const std::vector<const Column*>& used,
                                 MissingPolicy policy, std::vector<std::string>& notes) {
  const MissingCells missing = find_missing(table, used);
  if (missing.count > 0 && policy == MissingPolicy::refuse) refuse(table, missing);
  if (missing.rows == table.rows)
    throw DataError(fmt::format("{}: every row has a missing value", table.source));
  std::vector<Index> rows;
  rows.reserve(static_cast<std::size_t>(table.rows - missing.rows));
  for (Index row = 0; row < table.rows; ++row)
    if (!missing.incomplete[static_cast<std::size_t>(row)]) rows.push_back(row);
  if (missing.rows > 0)
    notes.push_back(
        fmt::format("{} of {} rows were left out because of missing values", missing.rows, table.rows));
  return rows;
}

}  // namespace magva::input
