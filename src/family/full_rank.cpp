#include "family/full_rank.hpp"

#include <cmath>
#include <numbers>

namespace magva {

FullRank::FullRank(const FamilyOptions& options, Index dimension, Index max_draws, Workers&)
    : work_(dimension, max_draws) {
  const Matrix zero = Matrix::Zero(dimension, 1);
  blocks_.push_back({BlockKind::kMean, ManifoldKind::kEuclidean, zero, zero});
  blocks_.push_back({BlockKind::kCholesky, ManifoldKind::kLowerTrapezoidal,
                     options.initial_residual_scale * Matrix::Identity(dimension, dimension),
                     Matrix::Zero(dimension, dimension)});
}

void FullRank::draw(ConstMatrixRef noise, MatrixRef phi) {
  const Index m = dimension();
  for (Index s = 0; s < noise.cols(); ++s) {
    auto column = phi.col(s);
    column = mu();
    for (Index j = 0; j < m; ++j) column.tail(m - j) += noise(j, s) * root().col(j).tail(m - j);
  }
}

double FullRank::entropy() const {
  const auto m = static_cast<double>(dimension());
  return root().diagonal().array().abs().log().sum() + m / 2 * (std::log(2 * std::numbers::pi) + 1);
}

void FullRank::gradient(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                        MatrixRef model_gradient) {
  const Index m = dimension();
  const Index draws = noise.cols();
  auto& of_mean = block(BlockKind::kMean).gradient;
  auto& of_root = block(BlockKind::kCholesky).gradient;
  if (estimator == Estimator::kPath) {
    // Sigma^-1 (theta - mu) = L^-T z, by back substitution.
    auto z = work_.leftCols(draws);
    z = noise;
    for (Index s = 0; s < draws; ++s)
      for (Index j = m - 1; j >= 0; --j) {
        const double rest = root().col(j).tail(m - j - 1).dot(z.col(s).tail(m - j - 1));
        z(j, s) = (z(j, s) - rest) / root()(j, j);
      }
    model_gradient += z;
  }
  of_mean.setZero();
  for (Index s = 0; s < draws; ++s) of_mean.col(0) += weight(s) * model_gradient.col(s);
  for (Index j = 0; j < m; ++j) {
    auto column = of_root.col(j).tail(m - j);
    column.setZero();
    for (Index s = 0; s < draws; ++s) column += (weight(s) * noise(j, s)) * model_gradient.col(s).tail(m - j);
  }
  if (estimator == Estimator::kEntropy) of_root.diagonal().array() += root().diagonal().array().inverse();
}

void FullRank::times_covariance(VectorRef v) {
  const Index m = dimension();
  auto inner = work_.col(0);
  for (Index j = 0; j < m; ++j) inner(j) = root().col(j).tail(m - j).dot(v.tail(m - j));
  v.setZero();
  for (Index j = 0; j < m; ++j) v.tail(m - j) += inner(j) * root().col(j).tail(m - j);
}

Gaussian FullRank::gaussian(const std::vector<Block>& at) const {
  return Gaussian::dense(find_block(at, BlockKind::kMean)->value,
                         find_block(at, BlockKind::kCholesky)->value);
}

}  // namespace magva
