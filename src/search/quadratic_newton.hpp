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
#include <optional>

#include "search/quadratic_fit.hpp"

namespace magva {

/// That function at a point, and its derivatives.
class ResidualProfile {
 public:
  /// `unit_precision`: in units of the conditional sds.
  /// It must outlive this.
  ResidualProfile(const Matrix& unit_precision, Index rank, Vector x);

  const Vector& x() const { return x_; }
  double value() const { return value_; }
  /// What rounding may change of the value.
  double rounding() const;
  Vector gradient() const;
  Matrix negative_hessian() const;
  /// W / c.
  Matrix factors() const;
  /// The same after a short step of x, to second order, by perturbation theory: no eigenvalues are computed
  /// anew. Nothing where they turn by more than `longest_turn`, whose square is the error.
  std::optional<Matrix> factors_after(const Vector& step, double longest_turn) const;

 private:
  Matrix factors_of(const Vector& x, const Vector& eigenvalues, const Matrix& eigenvectors) const;

  const Matrix* unit_precision_;
  Index rank_;
  Vector x_;
  Vector eigenvalues_;
  Matrix eigenvectors_;
  Index count_;  // of factors
  double value_;
};

/// Nats of a Newton step after which, steps converging quadratically, none is needed.
inline constexpr double kLastProfileGain = 1e-8;

/// The local maximum near the given residual sds, to rounding; or up to what follows a step that gains
/// `last_gain`.
QuadraticFit newton_quadratic_fit(const QuadraticFitter& fitter, ConstVectorRef residual_sd, Index rank,
                                  double last_gain = kLastProfileGain);

}  // namespace magva
