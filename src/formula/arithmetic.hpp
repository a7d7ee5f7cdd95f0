#pragma once
// Arithmetic over columns of numbers, evaluated for some rows at a time.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "magva/formula.hpp"
#include "magva/table.hpp"
#include "table/table_ranks.hpp"

namespace magva::formula {

/// So many rows are evaluated at once at most.
inline constexpr Index kBlockRows = 256;

/// Throws FormulaError, pointing into `text`, if the expression is no arithmetic: an unknown function, a
/// wrong number of arguments, an operator between terms.
void check_arithmetic(const Node& expression, const std::string& text);

/// Calls `visit` with blocks of the rows, in their order.
void for_each_block(std::span<const Index> rows, const std::function<void(std::span<const Index>)>& visit);

/// A checked expression whose columns have been found in a table, which must outlive it.
class Arithmetic {
 public:
  /// Throws DataError if a column is missing or holds text.
  Arithmetic(Node expression, const table::Table& table);

  /// At most kBlockRows rows. Throws DataError, naming the line, if a value is not finite.
  void evaluate(std::span<const Index> rows, double* out) const;
  const Node& expression() const { return expression_; }

 private:
  void bind(const Node& node);
  void evaluate(const Node& node, std::span<const Index> rows, double* out) const;
  void check_finite(std::span<const Index> rows, const double* values) const;

  Node expression_;
  const table::Table* table_;
  std::vector<std::pair<std::string, const table::Column*>> columns_;
};

/// The expression with the means and standard deviations (divisor n - 1) that scale() takes from these rows,
/// and those of the other ranks, written into it as numbers.
Node learn_scales(Node expression, const table::Table& table, std::span<const Index> rows,
                  const table::TableRanks& ranks);

Node number_node(double value);

}  // namespace magva::formula
