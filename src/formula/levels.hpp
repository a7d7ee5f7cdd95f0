#pragma once
// Levels of factors and groups: which there are, and which one each row has.
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "magva/table.hpp"
#include "table/table_ranks.hpp"

namespace magva::formula {

/// Rows numbered by the combination of levels that they have in some columns, in the order of first
/// appearance.
struct Grouping {
  std::vector<std::int32_t> group;     ///< of each row
  std::vector<Index> representatives;  ///< of each group: a row of the table that belongs to it
};
Grouping group_rows(const std::vector<const table::Column*>& columns, std::span<const Index> rows);

/// The levels of a row's cells, joined by ':'.
std::string level_name(const std::vector<const table::Column*>& columns, Index row);

/// The order of the groups: a single column of numbers by number, everything else by text.
std::vector<std::int32_t> level_order(const std::vector<const table::Column*>& columns,
                                      const std::vector<Index>& representatives);

/// The levels of a column in these rows, and those of the other ranks: numbers by number, texts sorted.
std::vector<std::string> levels_of(const table::Column& column, std::span<const Index> rows,
                                   const table::TableRanks& ranks);

/// Finds the number of a cell's level among known ones.
class LevelCoder {
 public:
  static constexpr Index kUnseen = -1;
  LevelCoder(const std::vector<std::string>& levels, const table::Column& column);
  Index code(Index row);

 private:
  const table::Column* column_;
  std::unordered_map<std::string, Index> by_text_;
  std::unordered_map<double, Index> by_number_;  ///< of cells that are numbers, as they come
  std::vector<Index> by_level_;                  ///< of the table's numbers of texts
};

}  // namespace magva::formula
