#pragma once
// A covariance by its precision, Sigma^-1 = S + V V', where S is sparse and V has a few columns: products,
// solutions and draws cost as much as the Cholesky factor of S has entries, and nothing of size m x m is
// formed.
#include <memory>
#include <mutex>
#include <vector>

#include "core/checksummed_file.hpp"
#include "core/sparse_cholesky.hpp"
#include "magva/types.hpp"

namespace magva {

/// Where S has entries: of the lower triangle, the whole diagonal among them, each once; and in which order
/// it is factorised.
class PrecisionStructure {
 public:
  PrecisionStructure(Index m, std::vector<Index> rows, std::vector<Index> columns);

  Index dimension() const { return m_; }
  Index entries() const { return static_cast<Index>(rows_.size()); }
  const std::vector<Index>& rows() const { return rows_; }
  const std::vector<Index>& columns() const { return columns_; }
  const SparseCholesky& cholesky() const { return cholesky_; }
  /// Where an entry, or the diagonal's entry of a row, lies in the factor's values.
  std::size_t place(Index entry) const { return places_[static_cast<std::size_t>(entry)]; }
  std::size_t diagonal_place(Index row) const;
  /// Of each row of the symmetric matrix, beside the diagonal.
  Vector entries_of_rows() const;
  /// A x for the symmetric matrix A with these values.
  Matrix times(ConstVectorRef values, ConstMatrixRef x) const;
  /// x' A x for each column x.
  Vector squared_lengths(ConstVectorRef values, ConstMatrixRef x) const;

 private:
  Matrix dense(ConstVectorRef values) const;
  bool is_better_dense(Index columns) const;
  Matrix times_by_entries(ConstVectorRef values, ConstMatrixRef x) const;
  Vector squared_lengths_by_entries(ConstVectorRef values, ConstMatrixRef x) const;

  Index m_;
  std::vector<Index> rows_;
  std::vector<Index> columns_;
  SparseCholesky cholesky_;
  std::vector<std::size_t> places_;
};

class FactoredPrecision {
 public:
  /// Null where the matrix is not positive definite. `sums`: V.
  static std::shared_ptr<const FactoredPrecision> make(std::shared_ptr<const PrecisionStructure> structure,
                                                       Vector values, Matrix sums);

  Index dimension() const { return structure_->dimension(); }
  const std::shared_ptr<const PrecisionStructure>& structure() const { return structure_; }
  const Vector& values() const { return values_; }
  const Matrix& sums() const { return sums_; }
  /// log |Sigma|
  double log_determinant() const { return log_det_; }
  /// Sigma^-1 v.
  Matrix times(ConstMatrixRef v) const;
  /// v' Sigma^-1 v for each column v.
  Vector squared_lengths(ConstMatrixRef v) const;
  /// Sigma v, by Woodbury's identity.
  Matrix solve(ConstMatrixRef v) const;
  /// The diagonal of Sigma^-1.
  Vector diagonal() const;
  /// The diagonal of Sigma, by selected inversion; computed once.
  const Vector& variances() const;
  /// Whether the sparse parts have entries at the same places, in the same order.
  bool has_pattern_of(const FactoredPrecision& other) const;
  /// tr(Sigma^-1 other's Sigma), where the two have one pattern.
  double trace_with_inverse_of(const FactoredPrecision& other) const;

  /// Numbers of noise that a draw takes.
  Index noise_size() const { return dimension() + sums_.cols(); }
  /// Sigma^1/2 z: a draw of N(0, S^-1), conditioned on the sums (Rue and Held 2005, section 2.3.3).
  Matrix root_times(ConstMatrixRef z) const;
  /// diag(scale) Sigma diag(scale); no scale is zero.
  std::shared_ptr<const FactoredPrecision> scaled(ConstVectorRef scale) const;

  void write(io::ChecksummedWriter& out) const;
  /// DataError if its parts do not fit each other.
  static std::shared_ptr<const FactoredPrecision> read(io::ChecksummedReader& in);

 private:
  FactoredPrecision() = default;
  bool factorise();
  /// L'^-1 z and S^-1 v, one column at a time, so that no column depends on how many there are.
  Matrix solve_upper(ConstMatrixRef z) const;
  Matrix solve_sparse(ConstMatrixRef v) const;
  /// S^-1 where the factor has entries, by selected inversion.
  AlignedNumbers sparse_inverse() const;
  /// T such that Sigma = S^-1 - T' T.
  Matrix taken_by_sums() const;
  Vector compute_variances() const;

  std::shared_ptr<const PrecisionStructure> structure_;
  Vector values_;
  Matrix sums_;
  AlignedNumbers factor_;  // L, of S in the structure's order
  Matrix sums_solved_;     // S^-1 V
  Matrix between_sums_;    // Cholesky factor of I + V' S^-1 V
  double log_det_ = 0;
  mutable std::once_flag variances_once_;
  mutable Vector variances_;
};

}  // namespace magva
