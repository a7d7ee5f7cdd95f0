#pragma once
// One column while it is read: decides what it is and turns cells into values.
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "table/cell.hpp"
#include "table/table.hpp"

namespace magva::input {

/// How many of a column's first cells are of which kind, and the rule that decides what the column is.
struct CellCounts {
  Index numbers = 0;         ///< those that are not finite included
  Index texts = 0;           ///< neither a number nor missing
  Index decimal_commas = 0;  ///< texts that a point for the comma makes a number

  void add(std::string_view cell);
  /// Numbers where more than half of the cells that are not missing are: a few texts among numbers are typing
  /// errors, to be named, not levels. Nothing where every cell is missing.
  std::optional<ColumnKind> majority() const;
};

class ColumnBuilder {
 public:
  ColumnBuilder(std::string name, std::optional<ColumnKind> kind);

  const std::string& name() const { return column_.name; }
  bool reads_numbers() const { return kind_ == ColumnKind::number; }
  std::optional<ColumnKind> kind() const { return kind_; }
  void decide(ColumnKind kind) { kind_ = kind; }

  /// The value of a cell. `where` writes "file, line, column" for the message of a DataError.
  double value_of(std::string_view content, const std::function<std::string()>& where);
  Doubles& values() { return column_.values; }
  /// Gives the values away, and to a column that has those of earlier parts, the levels that are new.
  void hand_over(Column& to);

 private:
  double number_of(std::string_view content, const std::function<std::string()>& where) const;
  double level_of(std::string_view content, const std::function<std::string()>& where);

  Column column_;
  std::optional<ColumnKind> kind_;  ///< nothing: only missing cells so far; the first other cell decides
  std::map<std::string, Index, std::less<>> level_numbers_;
};

}  // namespace magva::input
