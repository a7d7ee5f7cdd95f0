#pragma once
// The quadratic's best low-rank Gaussian (quadratic_fit.hpp) to rounding, by Newton steps on the residual sds
// alone.
//
// For given d the best W is known, as in factor analysis by maximum likelihood (Joereskog 1967): with the
// eigenvectors u_i of D A D whose eigenvalues lambda_i are the smallest, and below 1, its columns are
// D u_i (1 / lambda_i - 1)^1/2. What is left is a function of x = log(d / c), c the conditional sds,
//   sum x - sum exp(2 x) / 2 - sum_i (1 - lambda_i + log lambda_i) / 2
// but for a constant. An ascent by L-BFGS ends somewhere in a flat valley, and rounding decides where; these
// steps end where the precision says.
#include "search/quadratic_fit.hpp"

namespace magva {

/// That function at a point, and its derivatives.
class ResidualProfile {
 public:
  /// `unit_precision`: in units of the conditional sds.
  ResidualProfile(const Matrix& unit_precision, Index rank, Vector x);

  const Vector& x() const { return x_; }
  double value() const { return value_; }
  /// What rounding may change of the value.
  double rounding() const;
  Vector gradient() const;
  Matrix negative_hessian() const;
  /// W / c.
  Matrix factors() const;

 private:
  Index rank_;
  Vector x_;
  Vector eigenvalues_;
  Matrix eigenvectors_;
  Index count_;  // of factors
  double value_;
};

/// The local maximum near the given residual sds. `precision` must be positive definite.
QuadraticFit newton_quadratic_fit(ConstMatrixRef precision, ConstVectorRef residual_sd, Index rank);

}  // namespace magva
