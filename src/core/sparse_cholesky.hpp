#pragma once
// Cholesky factors of sparse positive definite matrices made of dense blocks, and the entries of the inverse
// at the factor's non-zeros.
//
// Multifrontal (Duff & Reid 1983; Liu 1992) with relaxed supernodes: all arithmetic is on dense fronts. The
// inverse follows Takahashi's equations (Erisman & Tinney 1975), front by front.
#include <cstdint>
#include <vector>

#include "core/front_tree.hpp"
#include "magva/types.hpp"

namespace magva {

/// Aligned as Eigen's own memory is: sums of unaligned numbers depend on where they happen to be.
using AlignedNumbers = std::vector<double, Eigen::aligned_allocator<double>>;

/// Where a block of the matrix, or of its inverse, lies in an array of values.
struct BlockPlace {
  std::int64_t offset = 0;
  std::int64_t stride = 0;
  bool transposed =
      false;  ///< the place holds the transpose: the block lies above the diagonal after reordering
};

/// Memory of a factorisation.
struct FrontStack {
  AlignedNumbers values;
  std::vector<std::int64_t> offset;  ///< of each front's part
};

/// The elimination order and the fronts of a pattern. All numeric functions are const and may run at the same
/// time, each on values and a stack of its own.
class SparseCholesky {
 public:
  explicit SparseCholesky(const BlockPattern& pattern);

  Index size() const { return size_; }
  /// Numbers that a matrix, a factor or an inverse takes.
  Index storage() const { return storage_; }
  /// Multiplications of a factorisation, roughly.
  double work() const { return work_; }
  const BlockPlace& diagonal(Index block) const { return diagonal_[static_cast<std::size_t>(block)]; }
  /// Of entry k of pattern.below.
  const BlockPlace& below(Index k) const { return below_[static_cast<std::size_t>(k)]; }
  /// Where a block's entries are in right-hand sides and solutions.
  Index first(Index block) const { return first_[static_cast<std::size_t>(block)]; }

  FrontStack make_stack() const;
  /// Turns the matrix (its lower triangle, zeros where there is no block) into its factor. False if it is not
  /// positive definite.
  bool factorise(AlignedNumbers& values, FrontStack& stack) const;
  double log_determinant(const AlignedNumbers& factor) const;
  /// L^-1 b, in place.
  void solve_lower(const AlignedNumbers& factor, VectorRef b) const;
  /// L^-T b, in place.
  void solve_upper(const AlignedNumbers& factor, VectorRef b) const;
  /// The inverse at the places of the factor's entries; the diagonal's blocks in full, of the others what the
  /// pattern has.
  void invert(const AlignedNumbers& factor, AlignedNumbers& inverse, FrontStack& stack) const;

 private:
  struct Front {
    std::int64_t offset;   // of its columns in the values: rows x columns
    std::int64_t rows_at;  // in rows_ and in parent_row_
    std::int32_t first;    // scalar column
    std::int32_t columns;
    std::int32_t rows;    // all, its own columns first
    std::int32_t parent;  // -1: a root
    bool leaf;
    std::int32_t below() const { return rows - columns; }
  };

  void lay_out_fronts(const BlockPattern& pattern, const FrontTree& tree);
  void place_blocks(const BlockPattern& pattern, const FrontTree& tree);
  void size_stacks();
  void add_to_parent(const Front& front, const double* update, double* parent_columns,
                     double* parent_rest) const;
  void take_from_parent(const Front& front, const double* parent_columns, const double* parent_rest,
                        double* out) const;

  Index size_ = 0;
  Index storage_ = 0;
  double work_ = 0;
  std::int64_t factor_stack_ = 0;
  std::int64_t inverse_stack_ = 0;
  std::vector<Front> fronts_;       // in postorder
  std::vector<std::int32_t> rows_;  // of each front, in elimination order
  std::vector<std::int32_t>
      parent_row_;                   // the same rows, those below the columns, as rows of the parent's front
  std::vector<std::int32_t> first_;  // scalar of each block, in elimination order
  std::vector<BlockPlace> diagonal_;
  std::vector<BlockPlace> below_;
};

}  // namespace magva
