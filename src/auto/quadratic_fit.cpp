#include "magva/auto/quadratic_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <cmath>

#include "magva/auto/constants.hpp"
#include "magva/error.hpp"
#include "magva/noise.hpp"

namespace magva {

namespace {
Matrix orthonormal(const Matrix& a) {
  return a.householderQr().householderQ() * Matrix::Identity(a.rows(), a.cols());
}
}  // namespace

QuadraticFitter::QuadraticFitter(ConstMatrixRef precision)
    : precision_(precision),
      scale_(precision.diagonal().cwiseSqrt().cwiseInverse()),
      directions_(precision.rows(), 0) {
  const Eigen::LLT<Matrix> llt(precision_);
  if (llt.info() != Eigen::Success) throw DataError("the curvature is not positive definite");
  cholesky_ = llt.matrixL();
}

QuadraticFitter::QuadraticFitter(ConstMatrixRef precision, const QuadraticFitter& similar)
    : QuadraticFitter(precision) {
  scale_ = similar.scale_;
  directions_ = similar.directions_;
}

double QuadraticFitter::full_rank_value() const {
  return -.5 * static_cast<double>(precision_.rows()) - cholesky_.diagonal().array().log().sum();
}

void QuadraticFitter::update_directions(Index rank) {
  const Index m = precision_.rows();
  const Index block = std::min(m, rank + constants::kSubspaceExtra);
  if (directions_.cols() < block) {
    Matrix start(m, block);
    Noise(1, NoiseStream::kFactors).fill(static_cast<std::uint64_t>(block), 0, start);
    start.leftCols(directions_.cols()) = directions_;
    directions_ = orthonormal(start);
  }
  for (int k = 0; k < constants::kSubspaceIterations; ++k) {
    Matrix image = scale_.cwiseInverse().asDiagonal() * directions_;
    cholesky_.triangularView<Eigen::Lower>().solveInPlace(image);
    cholesky_.triangularView<Eigen::Lower>().transpose().solveInPlace(image);
    directions_ = orthonormal(scale_.cwiseInverse().asDiagonal() * image);
  }
  const Matrix scaled = scale_.asDiagonal() * directions_;
  const Eigen::SelfAdjointEigenSolver<Matrix> ritz(scaled.transpose() * (precision_ * scaled));
  directions_ = (directions_ * ritz.eigenvectors()).eval();
  values_ = ritz.eigenvalues().head(rank).cwiseMin(constants::kWeakestFactor);
}

// Coordinate i maximises -a d^2/2 - b d + log d, with a and b from the other coordinates as they are.
void QuadraticFitter::update_scales(Index rank) {
  const Index m = precision_.rows();
  Matrix correlation = directions_.leftCols(rank) *
                       (values_.cwiseInverse().array() - 1).matrix().asDiagonal() *
                       directions_.leftCols(rank).transpose();
  correlation.diagonal().array() += 1;
  const Matrix weight = precision_.cwiseProduct(correlation);
  for (int sweep = 0; sweep < constants::kScaleSweeps; ++sweep)
    for (Index i = 0; i < m; ++i) {
      const double a = weight(i, i);
      const double b = weight.col(i).dot(scale_) - a * scale_(i);
      const double root = std::sqrt(b * b + 4 * a);
      scale_(i) = b > 0 ? 2 / (b + root) : (root - b) / (2 * a);
    }
  trace_ = scale_.dot(weight * scale_);
}

QuadraticFit QuadraticFitter::fit(Index rank) {
  const Index m = precision_.rows();
  const auto value = [&] {
    return -.5 * trace_ + scale_.array().log().sum() - .5 * values_.array().log().sum();
  };
  if (rank == 0) {
    const Vector sd = precision_.diagonal().cwiseSqrt().cwiseInverse();
    return {Matrix(m, 0), sd, -.5 * static_cast<double>(m) + sd.array().log().sum()};
  }
  double last = -std::numeric_limits<double>::infinity();
  const Index rounds = std::max(constants::kQuadraticRounds, constants::kQuadraticEffort / m);
  for (Index round = 0; round < rounds; ++round) {
    update_directions(rank);
    update_scales(rank);
    const double now = value();
    if (now - last < constants::kQuadraticTolerance) break;
    last = now;
  }
  const Matrix factors = scale_.asDiagonal() * directions_.leftCols(rank) *
                         (values_.cwiseInverse().array() - 1).sqrt().matrix().asDiagonal();
  return {factors, scale_, value()};
}

}  // namespace magva
