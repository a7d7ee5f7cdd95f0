#pragma once
// Data as a reader leaves them: named columns of numbers or of text, and the line of the file that each row
// came from.
#include <Eigen/SparseCore>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "magva/types.hpp"
#include "table/growing.hpp"

namespace magva::input {

using SparseRowMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

enum class ColumnKind { number, text };

struct Column {
  std::string name;
  ColumnKind kind = ColumnKind::number;
  Doubles values;  ///< of text: the level's number; NaN: a missing cell (readers let no other NaN in)
  std::vector<std::string> levels;  ///< of text: the different texts, in the order of their first appearance

  bool missing(Index row) const { return std::isnan(values[row]); }
  /// The text of a cell that is not missing; a number in its shortest form that reads back to the same
  /// number.
  std::string text(Index row) const;
};

/// The shortest text that reads back to the same number: 1, -0.5, 1e+300.
std::string number_text(double value);

/// The line on which each row starts; costs memory only where rows do not lie on consecutive lines.
class LineMap {
 public:
  /// Rows are added in their order.
  void add(Index row, std::int64_t line);
  std::int64_t line_of(Index row) const;

 private:
  std::vector<std::pair<Index, std::int64_t>> jumps_;
};

class Table {
 public:
  std::string source;  ///< what messages call it
  std::vector<Column> columns;
  /// Of a LIBSVM file: feature i is column i - 1, named "xi"; `columns` then has one column, "label".
  std::optional<SparseRowMatrix> features;
  Index rows = 0;
  LineMap lines;
  std::string sha256;  ///< of the file's bytes, where the reader was asked for it

  const Column* find(std::string_view name) const;
  std::vector<std::string> names() const;
};

/// Names a LIBSVM feature by its index, which counts from 1.
std::string feature_name(Index index);

}  // namespace magva::input
