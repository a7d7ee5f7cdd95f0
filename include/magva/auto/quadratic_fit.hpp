#pragma once
// The best low-rank-plus-diagonal Gaussian for a Gaussian posterior with a given precision A: it maximises
// -tr(A Sigma)/2 + log|Sigma|/2 over Sigma = D (I + U diag(1/lambda - 1) U') D, and needs no model
// evaluations.
#include "magva/types.hpp"

namespace magva {

struct QuadraticFit {
  Matrix factors;  ///< W of Sigma = W W' + diag(residual_sd)^2
  Vector residual_sd;
  double value;  ///< -tr(A Sigma)/2 + log|Sigma|/2, larger is better
};

/// Block ascent: for given D the best U are the eigenvectors of D A D with the smallest eigenvalues lambda;
/// for given U and lambda the problem is concave in D and is solved by coordinate ascent. `precision` must be
/// positive definite.
class QuadraticFitter {
 public:
  explicit QuadraticFitter(ConstMatrixRef precision);
  /// The same, starting where the fit for a similar precision ended.
  QuadraticFitter(ConstMatrixRef precision, const QuadraticFitter& similar);
  /// Ranks in increasing order start where the one before ended.
  QuadraticFit fit(Index rank);
  /// The value of the unrestricted optimum, Sigma = A^-1.
  double full_rank_value() const;

 private:
  void update_directions(Index rank);
  void update_scales(Index rank);

  Matrix precision_;
  Matrix cholesky_;
  Vector scale_;       // the diagonal of D
  Matrix directions_;  // U and some more columns, which make the subspace iteration converge
  Vector values_;      // lambda
  double trace_ = 0;   // tr(A Sigma)
};

}  // namespace magva
