#include "formula/levels.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_set>

#include "table/message.hpp"

namespace magva::formula {

namespace {

/// Numbers for keys, in the order in which they come.
template <class Key>
class Numbering {
 public:
  std::int32_t operator()(const Key& key) {
    return numbers_.try_emplace(key, static_cast<std::int32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<Key, std::int32_t> numbers_;
};

std::uint64_t pair_key(std::int32_t a, std::int32_t b) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32U | static_cast<std::uint32_t>(b);
}

}  // namespace

Grouping group_rows(const std::vector<const table::Column*>& columns, std::span<const Index> rows) {
  Grouping out;
  out.group.assign(rows.size(), 0);
  for (const table::Column* column : columns) {
    Numbering<double> cells;
    Numbering<std::uint64_t> pairs;
    for (std::size_t i = 0; i < rows.size(); ++i)
      out.group[i] = pairs(pair_key(out.group[i], cells(column->values[rows[i]] + 0.0)));
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (static_cast<std::size_t>(out.group[i]) == out.representatives.size())
      out.representatives.push_back(rows[i]);
  return out;
}

std::string level_name(const std::vector<const table::Column*>& columns, Index row) {
  std::string name;
  for (const table::Column* column : columns) {
    if (!name.empty()) name += ':';
    name += column->text(row);
  }
  return name;
}

std::vector<std::int32_t> level_order(const std::vector<const table::Column*>& columns,
                                      const std::vector<Index>& representatives) {
  std::vector<std::int32_t> order(representatives.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    for (const table::Column* column : columns) {
      const Index row_a = representatives[static_cast<std::size_t>(a)];
      const Index row_b = representatives[static_cast<std::size_t>(b)];
      if (column->values[row_a] == column->values[row_b]) continue;
      return column->kind == table::ColumnKind::text ? column->text(row_a) < column->text(row_b)
                                                     : column->values[row_a] < column->values[row_b];
    }
    return false;
  };
  std::sort(order.begin(), order.end(), before);
  return order;
}

std::vector<std::string> levels_of(const table::Column& column, std::span<const Index> rows,
                                   const table::TableRanks& ranks) {
  std::set<double> values;
  ranks.in_turn(values, [&] {
    std::unordered_set<double> own;
    for (const Index row : rows) own.insert(column.values[row] + 0.0);
    values.insert(own.begin(), own.end());
  });
  const bool text = column.kind == table::ColumnKind::text;
  std::vector<std::string> levels;
  for (const double value : values)
    levels.push_back(text ? column.levels[static_cast<std::size_t>(value)] : table::number_text(value));
  if (text) std::sort(levels.begin(), levels.end());
  return levels;
}

LevelCoder::LevelCoder(const std::vector<std::string>& levels, const table::Column& column)
    : column_(&column) {
  for (std::size_t i = 0; i < levels.size(); ++i) by_text_.emplace(levels[i], static_cast<Index>(i));
  if (column.kind != table::ColumnKind::text) return;
  for (const std::string& level : column.levels) {
    const auto found = by_text_.find(level);
    by_level_.push_back(found == by_text_.end() ? kUnseen : found->second);
  }
}

Index LevelCoder::code(Index row) {
  const double value = column_->values[row];
  if (column_->kind == table::ColumnKind::text) return by_level_[static_cast<std::size_t>(value)];
  const auto known = by_number_.find(value);
  if (known != by_number_.end()) return known->second;
  const auto found = by_text_.find(column_->text(row));
  return by_number_.emplace(value, found == by_text_.end() ? kUnseen : found->second).first->second;
}

}  // namespace magva::formula
