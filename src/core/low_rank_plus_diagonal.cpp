#include "core/low_rank_plus_diagonal.hpp"

namespace magva {

FactorMatrix::FactorMatrix(Matrix factors, ConstVectorRef log_residual)
    : factors_(std::move(factors)),
      residual_(log_residual.array().exp()),
      scaled_(residual_.cwiseInverse().asDiagonal() * factors_),
      log_det_(2 * log_residual.sum()) {
  if (p() == 0) return;
  Matrix capacitance = scaled_.transpose() * scaled_;
  capacitance.diagonal().array() += 1;
  capacitance_.compute(capacitance);
  log_det_ += 2 * Vector(capacitance_.matrixLLT().diagonal()).array().log().sum();
}

Matrix FactorMatrix::times(ConstMatrixRef v) const {
  Matrix out = residual_.cwiseAbs2().asDiagonal() * v;
  if (p() > 0) out += factors_ * (factors_.transpose() * v);
  return out;
}

Matrix FactorMatrix::solve(ConstMatrixRef v) const {
  Matrix out = residual_.cwiseInverse().asDiagonal() * v;
  if (p() > 0) out -= scaled_ * capacitance_.solve(scaled_.transpose() * out);
  return residual_.cwiseInverse().asDiagonal() * out;
}

Vector FactorMatrix::inverse_diagonal() const {
  Vector unit = Vector::Ones(m());
  if (p() > 0) {
    const Matrix half = capacitance_.matrixL().solve(scaled_.transpose());
    unit -= half.colwise().squaredNorm().transpose();
  }
  return unit.cwiseQuotient(residual_.cwiseAbs2());
}

}  // namespace magva
