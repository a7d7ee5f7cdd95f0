#pragma once
// The design matrix of a regression: rows of covariates, dense in double or single precision, or sparse. A
// Design either owns its numbers or looks at someone else's, such as a memory-mapped file.
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "magva/types.hpp"

namespace magva {

/// Dense rows: entry (i, j) is data[i * stride + j]. Single precision halves the bytes; sums are always in
/// double.
template <class Scalar>
struct DenseRows {
  const Scalar* data = nullptr;
  Index rows = 0;
  Index cols = 0;
  Index stride = 0;
};

/// Compressed sparse rows: row i has the entries starts[i] .. starts[i + 1] - 1 of `columns` and `values`.
struct SparseRows {
  const std::int64_t* starts = nullptr;
  const std::int32_t* columns = nullptr;
  const double* values = nullptr;
  Index rows = 0;
  Index cols = 0;
};

using Rows = std::variant<DenseRows<double>, DenseRows<float>, SparseRows>;

/// The storage behind SparseRows, as a reader fills it.
struct SparseMatrix {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  Index cols = 0;
};

using SingleRowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Cheap to copy: copies share the numbers.
class Design {
 public:
  /// Takes the matrix over. Throws DataError at an entry that is not finite.
  static Design own(RowMatrix matrix);
  static Design own(SingleRowMatrix matrix);
  static Design own(SparseMatrix matrix);
  /// Looks at numbers that `keeper` keeps alive; with no keeper they must outlive the design.
  static Design view(Rows rows, std::shared_ptr<const void> keeper = nullptr);

  Index rows() const;
  Index cols() const;
  /// The numbers stored: rows times columns, or the entries of a sparse design.
  Index entries() const;
  const Rows& numbers() const { return rows_; }

 private:
  Design(Rows rows, std::shared_ptr<const void> keeper) : rows_(rows), keeper_(std::move(keeper)) {}
  Rows rows_;
  std::shared_ptr<const void> keeper_;
};

}  // namespace magva
