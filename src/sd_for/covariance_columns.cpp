#include "sd_for/covariance_columns.hpp"

#include <Eigen/Cholesky>

#include <cmath>

namespace magva {

namespace {

/// Residual sd of a coordinate whose variance is all in the columns, as a share.
constexpr double kSmallResidual = 1e-4;

/// columns C^-1 columns' as a product with its transpose, C the columns' own rows.
Matrix response_factors(const std::vector<Index>& coordinates, const Matrix& columns) {
  const Matrix own = columns(coordinates, Eigen::all);
  const Eigen::LLT<Matrix> covariance(.5 * (own + own.transpose()));
  return covariance.matrixL().solve(columns.transpose()).transpose();
}

Gaussian with_columns_low_rank(const Gaussian& q, const std::vector<Index>& coordinates,
                               const Matrix& columns) {
  const Index p = q.rank();
  Matrix factors(q.dimension(), p + columns.cols());
  factors.rightCols(columns.cols()) = response_factors(coordinates, columns);
  Vector residual = q.residual_sd();
  if (p > 0) {
    const Matrix known =
        residual(coordinates).cwiseInverse().asDiagonal() * q.factors()(coordinates, Eigen::all);
    const Eigen::LLT<Matrix> left(Matrix::Identity(p, p) + known.transpose() * known);
    factors.leftCols(p) = left.matrixL().solve(q.factors().transpose()).transpose();
  }
  for (std::size_t k = 0; k < coordinates.size(); ++k) {
    const Index i = coordinates[k];
    factors.row(i).head(p).setZero();
    residual(i) = kSmallResidual * std::sqrt(columns(i, static_cast<Index>(k)));
  }
  if (factors.cols() < q.dimension())
    return Gaussian::low_rank(q.mean(), std::move(factors), std::move(residual));
  Matrix covariance = factors * factors.transpose();
  covariance.diagonal() += residual.cwiseAbs2();
  return Gaussian::dense(q.mean(), covariance.llt().matrixL());
}

Gaussian with_columns_dense(const Gaussian& q, const std::vector<Index>& coordinates, const Matrix& columns) {
  Matrix unit = Matrix::Zero(q.dimension(), columns.cols());
  for (std::size_t k = 0; k < coordinates.size(); ++k) unit(coordinates[k], static_cast<Index>(k)) = 1;
  const Matrix before = response_factors(coordinates, q.times(unit));
  const Matrix now = response_factors(coordinates, columns);
  Matrix covariance = q.factors() * q.factors().transpose();
  covariance += now * now.transpose() - before * before.transpose();
  return Gaussian::dense(q.mean(), covariance.llt().matrixL());
}

}  // namespace

// theta = mean + columns C^-1 (theta_A - mean_A) + what q has left given theta_A.
Gaussian with_covariance_columns(const Gaussian& q, const std::vector<Index>& coordinates,
                                 const Matrix& columns) {
  return q.is_dense() ? with_columns_dense(q, coordinates, columns)
                      : with_columns_low_rank(q, coordinates, columns);
}

}  // namespace magva
