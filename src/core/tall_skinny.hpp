#pragma once
// Products of tall m x p matrices with small ones: all that the low-rank families and the manifolds need.
// Eigen's general product packs its operands into heap buffers; these kernels work by row blocks and allocate
// nothing. Rows are cut into tasks by their number alone, so results do not depend on the number of threads.
#include "core/panel.hpp"
#include "core/symmetric.hpp"
#include "magva/types.hpp"
#include "magva/workers.hpp"

namespace magva {

/// The kernels with their scratch memory, for matrices of at most `rows` x `cols`.
class TallSkinny {
 public:
  TallSkinny(Index rows, Index cols, Workers& workers);

  /// out = A' B, where A is m x p and B is m x k, p and k at most `cols`.
  void gram(ConstMatrixRef a, ConstMatrixRef b, MatrixRef out);
  /// out = A' diag(w) A.
  void weighted_gram(ConstMatrixRef a, ConstVectorRef w, MatrixRef out);
  /// out = alpha A M + beta out. `out` may be A itself when M is square.
  void multiply(double alpha, ConstMatrixRef a, ConstMatrixRef small, double beta, MatrixRef out);
  /// out = the polar factor A (A'A)^(-1/2), the nearest matrix with orthonormal columns; `out` may be A.
  void polar(ConstMatrixRef a, MatrixRef out);

  /// The same where A'A is already known.
  void polar(ConstMatrixRef a, ConstMatrixRef gram, MatrixRef out);

  /// out = G^(-1/2); true if G was so ill-conditioned that digits were lost.
  bool inverse_root(ConstMatrixRef gram, MatrixRef out);

  /// Symmetric p x p eigenproblem; results stay valid until the next call.
  const SymmetricEigen& eigen(ConstMatrixRef symmetric);

  /// Small matrices for the callers' own intermediate results, p x p unless given.
  MatrixRef small(Index p) { return small(p, p); }
  MatrixRef small(Index rows, Index cols) { return small_.topLeftCorner(rows, cols); }
  MatrixRef other_small(Index p) { return other_small(p, p); }
  MatrixRef other_small(Index rows, Index cols) { return eigen_scratch_.topLeftCorner(rows, cols); }
  MatrixRef third_small(Index p) { return gram_.topLeftCorner(p, p); }
  /// A sum of products for the callers' own sweeps; gram() and what calls it use it too.
  GramSum& gram_sum() { return sum_; }
  Workers& workers() { return workers_; }
  Index cols() const { return small_.cols(); }

  /// Memory for a panel of that many columns without gaps between them, each task's own.
  MutablePanel scratch_panel(Range rows, Index cols, Index task) {
    return {panels_.col(task).data(), rows.size(), rows.size(), cols};
  }
  /// Each task's own.
  PrefetchQueue& prefetch(Index task) { return prefetch_[static_cast<std::size_t>(task)]; }

 private:
  Workers& workers_;
  GramSum sum_;
  Matrix panels_;  // one column per task
  std::vector<PrefetchQueue> prefetch_;
  Matrix small_, gram_, root_, eigen_scratch_;
  SymmetricEigen eigen_;
  NewtonRoot newton_;
};

}  // namespace magva
