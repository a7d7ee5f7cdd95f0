#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "magva/table.hpp"

namespace magva::table {

/// Whether the bytes are well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
bool is_utf8(std::string_view bytes);

// What the text of one cell means.

enum class CellKind { missing, number, not_finite, text };

struct Cell {
  CellKind kind;
  double value;  ///< of a number; NaN otherwise
};

/// Spaces around the text do not count. Missing is one of: nothing at all, NA, N/A, n/a, #N/A, NaN, nan, NAN,
/// NULL, null, None, ?, . (exactly these letters). A number is what C's strtod reads in decimal, with '.' for
/// the point; one that is infinite, by name or by size, or a NaN with a sign, is `not_finite`.
Cell read_cell(std::string_view text);

std::string_view trim(std::string_view text);

// One column while it is read: decides what it is and turns cells into values.

/// How many of a column's first cells are of which kind, and the rule that decides what the column is.
struct CellCounts {
  Index numbers = 0;         ///< those that are not finite included
  Index texts = 0;           ///< neither a number nor missing
  Index decimal_commas = 0;  ///< texts that a point for the comma makes a number

  void add(std::string_view cell);
  /// Numbers where more than half of the cells that are not missing are: a few texts among numbers are typing
  /// errors, to be named, not levels. Nothing if every cell is missing.
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

}  // namespace magva::table
