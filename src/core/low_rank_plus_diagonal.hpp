#pragma once
// Sigma = B diag(s)^2 B' + diag(d)^2 and its inverse: all the algebra of low rank plus diagonal, written once
// for families, the default, posteriors and baselines. With H = B' D^-2 B, C = I + S H S (the capacitance
// matrix) and K = S C^-1 S the Woodbury identity reads Sigma^-1 = D^-2 - D^-2 B K B' D^-2, and
// |Sigma| = |C| |D|^2. Nothing of size m x m is formed.
#include "core/tall_skinny.hpp"
#include "magva/types.hpp"

namespace magva {

/// The p x p part. Allocates nothing but in its constructor.
class Capacitance {
 public:
  explicit Capacitance(Index p = 0) : gram_(p, p), half_inverse_(p, p), inverse_(p, p) {}

  /// From H and the scales s; an empty s stands for ones.
  void compute(ConstMatrixRef gram, ConstVectorRef column_scales = Vector());

  const Matrix& gram() const { return gram_; }  ///< H
  const Matrix& half_inverse() const {
    return half_inverse_;
  }                                                   ///< X = L^-1 S with C = L L', so that K = X' X
  const Matrix& inverse() const { return inverse_; }  ///< K
  /// log |C|; not a number if C is not positive definite.
  double log_determinant() const { return log_det_; }

 private:
  Matrix gram_, half_inverse_, inverse_;
  double log_det_ = 0;
};

/// Products with Sigma and its inverse, given where its parts are stored; those must outlive the view. `v`,
/// `noise` and `out` may have any number of columns, and column j of `out` depends on column j alone, to the
/// bit. Work is spread over the kernel's threads; nothing is allocated. The kernel must have been made for m
/// rows and p columns or more.
class LowRankPlusDiagonalView {
 public:
  LowRankPlusDiagonalView(const Matrix& factors, const Vector& column_scales, ConstVectorRef residual,
                          const Capacitance& capacitance)
      : factors_(factors.data(), factors.rows(), factors.cols()),
        column_scales_(column_scales.data(), column_scales.size()),
        residual_(residual.data(), residual.size()),
        capacitance_(capacitance) {}
  /// With s = 1.
  LowRankPlusDiagonalView(const Matrix& factors, ConstVectorRef residual, const Capacitance& capacitance)
      : LowRankPlusDiagonalView(factors, Vector(), residual, capacitance) {}

  Index m() const { return residual_.size(); }
  Index p() const { return factors_.cols(); }
  double log_determinant() const;

  /// out = Sigma v; `out` may be v.
  void times(ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const;
  /// out = Sigma^-1 v; `out` may be v.
  void solve(ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const;
  /// The diagonal of Sigma^-1.
  void inverse_diagonal(VectorRef out, TallSkinny& kernel) const;
  /// Columns of N(0, Sigma), B (s o z) + d o epsilon, from p + m normals each: z, then epsilon.
  void draw(ConstMatrixRef noise, MatrixRef out, TallSkinny& kernel) const;
  /// Sigma^-1 times what draw() makes of the same noise, which is of N(0, Sigma^-1).
  void solve_draw(ConstMatrixRef noise, MatrixRef out, TallSkinny& kernel) const;
  /// Columns of N(0, Sigma^-1) from m normals each.
  void draw_inverse(ConstMatrixRef noise, MatrixRef out, TallSkinny& kernel) const;

 private:
  using Scaled = Eigen::Map<const Vector>;
  double column_scale(Index j) const { return column_scales_.size() == 0 ? 1 : column_scales_(j); }
  MatrixRef scaled_noise(ConstMatrixRef noise, TallSkinny& kernel) const;
  template <class RowScale, class Correction>
  void correct(ConstMatrixRef v, MatrixRef out, TallSkinny& kernel, RowScale&& row_scale,
               Correction&& correction) const;

  Eigen::Map<const Matrix> factors_;
  Scaled column_scales_, residual_;
  const Capacitance& capacitance_;
};

/// The matrix W W' + diag(d)^2 with storage of its own. Functions that return a value allocate it and their
/// scratch memory and use the caller's thread; view() has those that do neither.
class LowRankPlusDiagonal {
 public:
  LowRankPlusDiagonal() = default;
  LowRankPlusDiagonal(Matrix factors, Vector residual);
  LowRankPlusDiagonal(Matrix factors, Vector residual, TallSkinny& kernel);
  /// Allocates nothing if the shape stays.
  void assign(ConstMatrixRef factors, ConstVectorRef residual, TallSkinny& kernel);

  Index m() const { return factors_.rows(); }
  Index p() const { return factors_.cols(); }
  const Matrix& factors() const { return factors_; }
  const Vector& residual() const { return residual_; }
  const Capacitance& capacitance() const { return capacitance_; }
  double log_determinant() const { return log_det_; }
  LowRankPlusDiagonalView view() const { return {factors_, residual_, capacitance_}; }

  Matrix times(ConstMatrixRef v) const;
  Matrix solve(ConstMatrixRef v) const;
  Vector inverse_diagonal() const;
  Matrix draw(ConstMatrixRef noise) const;
  Matrix draw_inverse(ConstMatrixRef noise) const;

 private:
  void factorize(TallSkinny& kernel);

  Matrix factors_;
  Vector residual_;
  Capacitance capacitance_;
  double log_det_ = 0;
};

/// A kernel for one call on the caller's thread: m rows, p columns, `columns` right-hand sides taken a few at
/// a time.
class SerialKernel {
 public:
  SerialKernel(Index m, Index p, Index columns);
  operator TallSkinny&() { return kernel_; }

 private:
  Workers workers_;
  TallSkinny kernel_;
};

/// H = B' D^-2 B for the capacitance.
void precision_weighted_gram(ConstMatrixRef factors, ConstVectorRef residual, MatrixRef out,
                             TallSkinny& kernel);

}  // namespace magva
