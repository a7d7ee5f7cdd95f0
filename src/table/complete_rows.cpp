#include "table/complete_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "magva/error.hpp"
#include "table/message.hpp"

namespace magva::input {

namespace {
constexpr std::size_t kPlacesShown = 3;
}

std::vector<Index> MissingCells::add(const Table& part, const std::vector<const Column*>& used) {
  std::vector<bool> incomplete(static_cast<std::size_t>(part.rows), false);
  std::vector<std::pair<Index, const Column*>> places;
  for (const Column* column : used) {
    std::size_t in_column = 0;
    for (Index row = 0; row < part.rows; ++row) {
      if (!column->missing(row)) continue;
      incomplete[static_cast<std::size_t>(row)] = true;
      if (in_column++ < kPlacesShown) places.emplace_back(row, column);
    }
    cells_ += static_cast<Index>(in_column);
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [row, column] : places)
    if (places_.size() < kPlacesShown) places_.push_back({part.lines.line_of(row), column->name});
  std::vector<Index> complete;
  complete.reserve(static_cast<std::size_t>(part.rows));
  for (Index row = 0; row < part.rows; ++row)
    if (!incomplete[static_cast<std::size_t>(row)]) complete.push_back(row);
  rows_ += part.rows;
  incomplete_ += part.rows - static_cast<Index>(complete.size());
  return complete;
}

void MissingCells::refuse(const std::string& source) const {
  std::string places;
  for (const Place& place : places_)
    places +=
        fmt::format("{}line {}, column {}", places.empty() ? "" : "; ", place.line, excerpt(place.column));
  throw DataError(fmt::format(
      "{} has {} missing value{} in {} of {} rows ({}{}); fill them in, or leave these rows out with "
      "--missing drop",
      source, cells_, cells_ == 1 ? "" : "s", incomplete_, rows_, places,
      cells_ > static_cast<Index>(places_.size()) ? "; ..." : ""));
}

void MissingCells::settle(const std::string& source, MissingPolicy policy,
                          std::vector<std::string>& notes) const {
  if (cells_ > 0 && policy == MissingPolicy::refuse) refuse(source);
  if (incomplete_ == rows_) throw DataError(fmt::format("{}: every row has a missing value", source));
  if (incomplete_ > 0)
    notes.push_back(fmt::format("{} of {} rows were left out because of missing values", incomplete_, rows_));
}

std::vector<Index> complete_rows(const Table& table, const std::vector<const Column*>& used,
                                 MissingPolicy policy, std::vector<std::string>& notes) {
  MissingCells missing;
  std::vector<Index> rows = missing.add(table, used);
  missing.settle(table.source, policy, notes);
  return rows;
}

}  // namespace magva::input
