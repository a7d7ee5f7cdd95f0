#pragma once
// Small symmetric p x p matrices without allocation: Eigen's solver takes heap memory in every call.
#include "magva/types.hpp"

namespace magva {

/// Eigenvalues and eigenvectors by cyclic Jacobi rotations, for matrices of at most `size` x `size`.
class SymmetricEigen {
 public:
  explicit SymmetricEigen(Index size) : work_(size, size), vectors_(size, size), values_(size) {}

  void compute(ConstMatrixRef symmetric);
  /// Ascending.
  Eigen::Ref<const Vector> values() const { return values_.head(used_); }
  /// A column each.
  Eigen::Ref<const Matrix> vectors() const { return vectors_.topLeftCorner(used_, used_); }

 private:
  void rotate(Index i, Index j);
  void sort();

  Index used_ = 0;
  Matrix work_, vectors_;
  Vector values_;
};

/// A <- L, on and below the diagonal, with A = L L' symmetric positive definite; returns log|A|, not a number
/// if A is not positive definite.
double cholesky(MatrixRef a);
/// L <- L^-1, both on and below the diagonal.
void invert_lower(MatrixRef l);
/// X <- X' X for an X that is given on and below the diagonal.
void lower_gram(MatrixRef x);
/// A <- A^-1 for a symmetric positive definite A; returns log|A|, not a number if A is not positive definite.
double invert_spd(MatrixRef a);

/// Inverse square roots by Newton's iteration, for matrices of at most `size` x `size`.
class NewtonRoot {
 public:
  explicit NewtonRoot(Index size) : y_(size, size), t_(size, size), last_(size, size) {}

  /// out = G^(-1/2) for a well-conditioned positive definite G. False, and `out` unusable, where G is not.
  bool compute(ConstMatrixRef g, MatrixRef out);

 private:
  Matrix y_, t_, last_;
};

}  // namespace magva
