#include "exact/low_rank_coordinates.hpp"

#include <Eigen/Cholesky>
#include <Eigen/SVD>

#include <algorithm>
#include <cmath>

#include "manifold/stiefel.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

namespace {

constexpr double kShortestFactor = .05;  // a factor of length zero never grows

}  // namespace

Matrix inverse_root(const Matrix& curvature) {
  return Eigen::LLT<Matrix>(curvature).matrixU().solve(Matrix::Identity(curvature.rows(), curvature.rows()));
}

LowRankCoordinates::LowRankCoordinates(Vector centre, Vector conditional_sd,
                                       const std::optional<Matrix>& curvature, Index rank, Workers& workers)
    : LowRankCoordinates(std::move(centre), std::move(conditional_sd),
                         curvature ? std::make_shared<const Matrix>(inverse_root(*curvature)) : nullptr, rank,
                         workers) {}

LowRankCoordinates::LowRankCoordinates(Vector centre, Vector conditional_sd,
                                       std::shared_ptr<const Matrix> root, Index rank, Workers& workers)
    : m_(centre.size()),
      p_(rank),
      centre_(std::move(centre)),
      scale_(std::move(conditional_sd)),
      root_(std::move(root)),
      kernel_(m_, std::max<Index>(1, rank), workers) {}

Matrix LowRankCoordinates::times_root(ConstMatrixRef u) const {
  if (root_) return root_->triangularView<Eigen::Upper>() * u;
  return scale_.asDiagonal() * u;
}

Matrix LowRankCoordinates::root_transposed_times(ConstMatrixRef g) const {
  if (root_) return root_->triangularView<Eigen::Upper>().transpose() * g;
  return scale_.asDiagonal() * g;
}

Matrix LowRankCoordinates::solve_root(ConstMatrixRef v) const {
  if (root_) return root_->triangularView<Eigen::Upper>().solve(v);
  return scale_.cwiseInverse().asDiagonal() * v;
}

Vector LowRankCoordinates::coordinates(const LowRankPoint& point) const {
  Vector x(dimension());
  x.head(m_) = solve_root(point.mean - centre_);
  if (p_ > 0) {
    const Eigen::BDCSVD<Matrix> svd(solve_root(point.factors), Eigen::ComputeThinU);
    x.segment(m_, m_ * p_) = svd.matrixU().reshaped();
    x.segment(m_ + m_ * p_, p_) = svd.singularValues().cwiseMax(kShortestFactor).array().log();
  }
  x.tail(m_) =
      .5 * (point.residual_sd.cwiseQuotient(scale_).array().square() - kResidualFloor * kResidualFloor)
               .max(kResidualFloor * kResidualFloor)
               .log();
  return x;
}

LowRankPoint LowRankCoordinates::point(ConstVectorRef x) const {
  const Matrix b = x.segment(m_, m_ * p_).reshaped(m_, p_);
  const Vector length = x.segment(m_ + m_ * p_, p_).array().exp();
  return {centre_ + times_root(x.head(m_)), times_root(b * length.asDiagonal()),
          scale_.array() * (kResidualFloor * kResidualFloor + (2 * x.tail(m_)).array().exp()).sqrt()};
}

Vector LowRankCoordinates::gradient(ConstVectorRef x, const LowRankPoint& point,
                                    const LowRankDerivatives& derivatives) {
  Vector g(dimension());
  g.head(m_) = root_transposed_times(derivatives.mean);
  const Vector length = x.segment(m_ + m_ * p_, p_).array().exp();
  g.segment(m_, m_ * p_) = root_transposed_times(derivatives.factors * length.asDiagonal()).reshaped();
  g.segment(m_ + m_ * p_, p_) = derivatives.factors.cwiseProduct(point.factors).colwise().sum().transpose();
  // d d / d e = c^2 exp(2 e) / d.
  g.tail(m_) = derivatives.residual_sd.array() * scale_.array().square() * (2 * x.tail(m_)).array().exp() /
               point.residual_sd.array();
  project(x, g);
  return g;
}

void LowRankCoordinates::project(ConstVectorRef x, VectorRef v) {
  if (p_ == 0) return;
  const Eigen::Map<const Matrix> at(x.data() + m_, m_, p_);
  Eigen::Map<Matrix> tangent(v.data() + m_, m_, p_);
  Stiefel().project(at, tangent, tangent, kernel_);
}

Vector LowRankCoordinates::retract(ConstVectorRef x, ConstVectorRef step) {
  Vector to = x + step;
  if (p_ == 0) return to;
  const Eigen::Map<const Matrix> at(x.data() + m_, m_, p_);
  const Eigen::Map<const Matrix> tangent(step.data() + m_, m_, p_);
  Eigen::Map<Matrix> out(to.data() + m_, m_, p_);
  Stiefel().retract(at, tangent, out, kernel_);
  return to;
}

}  // namespace magva
