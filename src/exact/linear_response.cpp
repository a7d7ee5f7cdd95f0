#include "exact/linear_response.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace magva {

namespace {

/// Multiplications, at most: some tenths of a second.
constexpr double kMostWork = 4e9;

double cubed(Index n) {
  const auto x = static_cast<double>(n);
  return x * x * x;
}

/// Half of X' diag(by_mean) P: how the mean's gradient depends on the covariance's coordinates.
Matrix cross_hessian(const PredictorTerms& terms, const Matrix& by_coordinates) {
  return .5 * terms.rows.transpose() * (terms.by_mean.asDiagonal() * by_coordinates);
}

/// C less what the covariance's answer to a move of the mean takes from it; `own` is H, which must be
/// positive definite once the terms' own part is subtracted.
std::optional<Matrix> eliminate_coordinates(const PredictorTerms& terms, const Matrix& curvature, Matrix own,
                                            const Matrix& by_coordinates) {
  own.noalias() -= .5 * by_coordinates.transpose() * (terms.by_variance.asDiagonal() * by_coordinates);
  const Eigen::LLT<Matrix> factor(own);
  if (factor.info() != Eigen::Success) return std::nullopt;
  const Matrix cross = cross_hessian(terms, by_coordinates);
  return positive_inverse(curvature - cross * factor.solve(cross.transpose()));
}

// lambda = the symmetric S in Sigma = L (I + S) L', on an orthonormal basis: there H is I / 2.
std::optional<Matrix> respond_in_coordinates(const PredictorTerms& terms, const Matrix& curvature,
                                             const Matrix& root) {
  const Index m = root.rows();
  const Index size = m * (m + 1) / 2;
  const RowMatrix white = terms.rows * root;
  Matrix by_coordinates(white.rows(), size);
  Index column = 0;
  for (Index j = 0; j < m; ++j) {
    by_coordinates.col(column++) = white.col(j).cwiseAbs2();
    for (Index k = 0; k < j; ++k)
      by_coordinates.col(column++) = std::numbers::sqrt2 * white.col(j).cwiseProduct(white.col(k));
  }
  return eliminate_coordinates(terms, curvature, .5 * Matrix::Identity(size, size), by_coordinates);
}

// As many unknowns as rows: P H^-1 P' / 2 has the entries (x_i' Sigma x_j)^2.
std::optional<Matrix> respond_in_rows(const PredictorTerms& terms, const Matrix& curvature,
                                      const Matrix& root) {
  const Matrix white = terms.rows * root;
  const Matrix squares = (white * white.transpose()).cwiseAbs2();
  const Index n = white.rows();
  const Matrix weighted = terms.by_mean.asDiagonal() * terms.rows;
  const Matrix system = Matrix::Identity(n, n) - squares * terms.by_variance.asDiagonal();
  const Matrix variances = system.partialPivLu().solve(squares * weighted);
  const Matrix correction = .5 * weighted.transpose() * variances;
  return positive_inverse(curvature - .5 * (correction + correction.transpose()));
}

/// Multiplications of the two ways.
struct ResponseWork {
  double in_rows, in_coordinates;
};

ResponseWork response_work(Index n, Index m) {
  const Index size = m * (m + 1) / 2;
  return {cubed(n) + cubed(m),
          static_cast<double>(n) * static_cast<double>(size) * static_cast<double>(size) + cubed(size)};
}

}  // namespace

std::optional<Matrix> positive_inverse(const Matrix& symmetric) {
  const Eigen::LLT<Matrix> factor(symmetric);
  if (factor.info() != Eigen::Success) return std::nullopt;
  return factor.solve(Matrix::Identity(symmetric.rows(), symmetric.cols()));
}

bool linear_response_affordable(Index terms, Index dimension) {
  const ResponseWork work = response_work(terms, dimension);
  return std::min(work.in_rows, work.in_coordinates) <= kMostWork;
}

std::optional<Matrix> linear_response(const PredictorTerms& terms, const Matrix& covariance) {
  if (!linear_response_affordable(terms.rows.rows(), covariance.rows())) return std::nullopt;
  const Eigen::LLT<Matrix> factor(covariance);
  if (factor.info() != Eigen::Success) return std::nullopt;
  const Index m = covariance.rows();
  const ResponseWork work = response_work(terms.rows.rows(), m);
  const Matrix curvature = factor.solve(Matrix::Identity(m, m));
  const Matrix root = factor.matrixL();
  return work.in_rows < work.in_coordinates ? respond_in_rows(terms, curvature, root)
                                            : respond_in_coordinates(terms, curvature, root);
}

}  // namespace magva
