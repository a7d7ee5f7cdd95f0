#pragma once
// W W' + diag(d)^2 and its inverse. With a = D^-1 W and C = I + a'a the Woodbury identity reads
// (W W' + D^2)^-1 = D^-1 (I - a C^-1 a') D^-1.
#include <Eigen/Cholesky>

#include "magva/types.hpp"

namespace magva {

class FactorMatrix {
 public:
  FactorMatrix() = default;
  FactorMatrix(Matrix factors, ConstVectorRef log_residual);

  Index m() const { return factors_.rows(); }
  Index p() const { return factors_.cols(); }
  const Matrix& factors() const { return factors_; }
  const Vector& residual() const { return residual_; }
  const Matrix& scaled() const { return scaled_; }
  const Eigen::LLT<Matrix>& capacitance() const { return capacitance_; }
  double log_determinant() const { return log_det_; }

  Matrix times(ConstMatrixRef v) const;
  Matrix solve(ConstMatrixRef v) const;
  Vector inverse_diagonal() const;

 private:
  Matrix factors_;
  Vector residual_;
  Matrix scaled_;                                           // a
  Eigen::LLT<Matrix> capacitance_{Matrix::Identity(1, 1)};  // copied even where there are no factors
  double log_det_ = 0;
};

}  // namespace magva
