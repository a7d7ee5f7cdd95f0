#pragma once
// The best low-rank-plus-diagonal Gaussian for a Gaussian posterior with a given precision A: it maximises
// -tr(A Sigma)/2 + log|Sigma|/2 over Sigma = W W' + diag(d)^2, and needs no model evaluations. There may be
// many local maxima, some tenths of a nat below the highest, so that several starts are worth their while.
#include "core/control.hpp"
#include "magva/types.hpp"
#include "search/quadratic_objective.hpp"

namespace magva {

/// The weakest factor has 1/kWeakestFactor - 1 times the residual variance: a factor of length zero never
/// grows.
inline constexpr double kWeakestFactor = .98;

/// Least residual sd, in conditional sds: its square costs less than 1e-4 nats a parameter.
inline constexpr double kResidualFloor = .01;

/// Nats of gain below which an ascent is at its end.
inline constexpr double kQuadraticTolerance = 1e-3;

struct QuadraticFit {
  Matrix factors;      ///< W
  Vector residual_sd;  ///< d
  double value;        ///< -tr(A Sigma)/2 + log|Sigma|/2, larger is better
};

class QuadraticFitter {
 public:
  /// `precision` must be positive definite. The control, where there is one, is polled as time passes.
  explicit QuadraticFitter(ConstMatrixRef precision, Control* control = nullptr);

  /// The local maximum reached from the eigenvectors with the smallest eigenvalues of A, in units of the
  /// conditional sds.
  QuadraticFit fit(Index rank) const;
  /// The highest of the local maxima reached from many places: eigenvectors in other units, random factors,
  /// and the best so far with one factor disturbed. Where the fit must end, the best so far.
  QuadraticFit best(Index rank) const;
  /// The local maximum reached from a given point: L-BFGS begins anew until that gains less than the
  /// tolerance.
  QuadraticFit maximize_from(ConstMatrixRef factors, ConstVectorRef residual_sd,
                             double tolerance = kQuadraticTolerance) const;
  /// The first of these runs alone: close enough to tell local maxima apart.
  QuadraticFit approach_from(ConstMatrixRef factors, ConstVectorRef residual_sd) const;
  double value(ConstMatrixRef factors, ConstVectorRef residual_sd) const;
  /// For the given d the best W: eigenvectors of D A D, as long as their eigenvalues are below 1.
  Matrix eigenvectors(ConstVectorRef residual_sd, Index rank) const;
  /// A^-1 v.
  Vector solve(ConstVectorRef v) const;
  const Matrix& precision() const { return precision_; }
  const Vector& conditional_sd() const { return conditional_sd_; }
  /// The value of the unrestricted optimum, Sigma = A^-1.
  double full_rank_value() const;
  /// Its marginal sds.
  Vector full_rank_sd() const;

 private:
  QuadraticFit mean_field() const;
  /// At most so many runs of L-BFGS, until one gains less than the tolerance.
  QuadraticFit ascend(ConstMatrixRef factors, ConstVectorRef residual_sd, int runs, double tolerance) const;
  /// Replaces `best` by what other starts reach where that is higher.
  void improve(QuadraticFit& best, Index rank, Index starts) const;

  Matrix precision_;
  Matrix cholesky_;
  InverseRoot inverse_root_;
  Vector conditional_sd_;
  Control* control_;
};

}  // namespace magva
