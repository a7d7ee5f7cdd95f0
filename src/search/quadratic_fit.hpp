#pragma once
// The best low-rank-plus-diagonal Gaussian for a Gaussian posterior with a given precision A: it maximises
// -tr(A Sigma)/2 + log|Sigma|/2 over Sigma = W W' + diag(d)^2, and needs no model evaluations. There may be
// many tops, some tenths of a nat apart, so that several starts are worth their while.
#include "magva/types.hpp"

namespace magva {

struct QuadraticFit {
  Matrix factors;      ///< W
  Vector residual_sd;  ///< d
  double value;        ///< -tr(A Sigma)/2 + log|Sigma|/2, larger is better
};

class QuadraticFitter {
 public:
  /// `precision` must be positive definite.
  explicit QuadraticFitter(ConstMatrixRef precision);

  /// The top above the eigenvectors with the smallest eigenvalues of A, in units of the conditional sds.
  QuadraticFit fit(Index rank) const;
  /// The highest top that climbs from many places reach: eigenvectors in other units, random factors, and the
  /// best so far with one factor disturbed.
  QuadraticFit best(Index rank) const;
  /// The top above a given point.
  QuadraticFit climb(ConstMatrixRef factors, ConstVectorRef residual_sd) const;
  /// For the given d the best W: eigenvectors of D A D, as long as their eigenvalues are below 1.
  Matrix eigenvectors(ConstVectorRef residual_sd, Index rank) const;
  /// The value of the unrestricted optimum, Sigma = A^-1.
  double full_rank_value() const;

 private:
  QuadraticFit mean_field() const;

  Matrix precision_;
  Matrix cholesky_;
  Vector conditional_sd_;
};

}  // namespace magva
