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

/// out = G^(-1/2) by Newton's iteration, for a positive definite G near the identity. False, and `out`
/// unusable, where G is too far from it. `work` has the shape of G; neither `out` nor `work` may be G.
bool inverse_root_near_identity(ConstMatrixRef g, MatrixRef out, MatrixRef work, MatrixRef work2);

}  // namespace magva
