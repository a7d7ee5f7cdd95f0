#pragma once
// Rows of a table as rows of the designs that a learnt formula describes, some rows at a time.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formula/arithmetic.hpp"
#include "formula/levels.hpp"
#include "magva/formula_design.hpp"

namespace magva::formula {

/// How many columns a variable makes in a term.
Index width(const Variable& variable, bool all_levels);

/// Where the columns of a set of terms lie, with and without those that are left out.
struct ColumnLayout {
  ColumnLayout(const std::vector<Variable>& variables, const ColumnSet& columns);
  Index all = 0;                ///< columns in all
  Index kept = 0;               ///< those that are not left out
  std::vector<Index> position;  ///< of each column among those that are kept, or -1
  std::vector<Index> first;     ///< column of each term
};

/// All names, of columns that are left out too.
std::vector<std::string> all_names(const std::vector<Variable>& variables, const ColumnSet& columns);

/// The values of the variables for a block of rows of one table, and the columns made of them.
class RowEncoder {
 public:
  /// Throws DataError if a column is missing or holds the wrong kind of values. The table must outlive it.
  RowEncoder(const std::vector<Variable>& variables, const table::Table& table);

  /// At most kBlockRows rows. Throws DataError for a level that was never seen or a value that is not finite.
  void load(std::span<const Index> rows);
  /// Row i of the loaded ones: `out` has layout.kept places, which are zero.
  void fill(const ColumnSet& columns, const ColumnLayout& layout, Index i, double* out);

 private:
  struct Loaded {
    const Variable* variable;
    std::unique_ptr<Arithmetic> numbers;  ///< unless it is a factor
    std::unique_ptr<LevelCoder> levels;   ///< if it is one
    const table::Column* column = nullptr;
    RowMatrix values;  ///< a row for each column of numbers
    std::vector<Index> codes;
  };
  struct Entry {
    Index column;
    double value;
  };
  void load_factor(Loaded& loaded, std::span<const Index> rows) const;
  bool multiply(const CodedVariable& coded, Index i, Index stride);

  const table::Table* table_;
  std::vector<Loaded> loaded_;
  std::vector<Entry> entries_;
};

/// The values of a polynomial's columns, one row each, at the values in the first row.
void fill_polynomial(const PolynomialVariable& polynomial, Index count, RowMatrix& values);
/// Learns the recurrence of orthogonal polynomials from the values of the rows of a fit, on all ranks.
void learn_polynomial(PolynomialVariable& polynomial, const table::Table& table, std::span<const Index> rows,
                      const table::TableRanks& ranks);

}  // namespace magva::formula
