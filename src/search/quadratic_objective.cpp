#include "search/quadratic_objective.hpp"

#include <algorithm>
#include <cmath>

#include "core/panel_kernels.hpp"
#include "core/symmetric.hpp"
#include "core/vector.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

namespace {

constexpr Index kTriangleRows = 32;  // of a triangle that are multiplied at once
constexpr double kFloor = kResidualFloor * kResidualFloor;

}  // namespace

InverseRoot::InverseRoot(const Matrix& cholesky) {
  const Index m = cholesky.rows();
  lower_ = Matrix::Zero(detail::padded(m), m);
  upper_ = Matrix::Zero(detail::padded(m), m);
  lower_.topRows(m) = cholesky.triangularView<Eigen::Lower>().solve(Matrix::Identity(m, m));
  upper_.topRows(m) = lower_.topRows(m).transpose();
}

void InverseRoot::times(ConstMatrixRef v, Matrix& out) const {
  const Index m = upper_.cols();
  for (Index row = 0; row < rows(); row += kTriangleRows) {
    const Range range{row, std::min(row + kTriangleRows, rows())};
    const auto used = upper_.rightCols(m - row);
    detail::multiply(1, panel(used, range), v.bottomRows(m - row), 0, mutable_panel(out, range));
  }
}

void InverseRoot::transposed_times(ConstMatrixRef v, Matrix& out) const {
  const Index m = lower_.cols();
  for (Index row = 0; row < rows(); row += kTriangleRows) {
    const Range range{row, std::min(row + kTriangleRows, rows())};
    const Index count = std::min(range.end, m);
    const auto used = lower_.leftCols(count);
    detail::multiply(1, panel(used, range), v.topRows(count), 0, mutable_panel(out, range));
  }
}

QuadraticObjective::QuadraticObjective(const Matrix& cholesky, const InverseRoot& root,
                                       const Vector& conditional_sd, Index rank)
    : cholesky_(cholesky),
      root_(root),
      sd_(conditional_sd),
      rank_(rank),
      factors_(root.rows(), rank),
      image_(root.rows(), rank),
      solved_(conditional_sd.size(), rank),
      capacitance_(rank, rank) {}

Vector QuadraticObjective::coordinates(ConstMatrixRef factors, ConstVectorRef residual_sd) const {
  Vector out(dimension());
  out.head(sd_.size() * rank_) =
      Matrix(cholesky_.triangularView<Eigen::Lower>().transpose() * factors).reshaped();
  out.tail(sd_.size()) = .5 * (residual_sd.cwiseQuotient(sd_).array().square() - kFloor).max(kFloor).log();
  return out;
}

Matrix QuadraticObjective::factors(ConstVectorRef at) const {
  Matrix out(root_.rows(), rank_);
  root_.times(at.head(sd_.size() * rank_).reshaped(sd_.size(), rank_), out);
  return out.topRows(sd_.size());
}

Vector QuadraticObjective::residual_sd(ConstVectorRef at) const {
  return sd_.array() * (kFloor + (2 * at.tail(sd_.size())).array().exp()).sqrt();
}

// With a = D^-1 W and C = I + a'a: Sigma^-1 W = D^-1 a C^-1, diag(Sigma^-1) = (1 - |C^-1/2 a_i|^2) / d^2.
double QuadraticObjective::operator()(ConstVectorRef at, VectorRef gradient) {
  const Index m = sd_.size();
  const Eigen::Map<const Matrix> v(at.data(), m, rank_);
  share_ = (2 * at.tail(m)).array().exp();
  ratio_ = (kFloor + share_.array()).sqrt();  // d / c
  inverse_sd_ = (ratio_.array() * sd_.array()).inverse();
  root_.times(v, factors_);
  auto a = factors_.topRows(m);
  for (Index j = 0; j < rank_; ++j) {
    a.col(j).array() *= inverse_sd_.array();
    for (Index i = 0; i <= j; ++i) capacitance_(i, j) = capacitance_(j, i) = a.col(i).dot(a.col(j));
  }
  capacitance_.diagonal().array() += 1;
  const double log_determinant = invert_spd(capacitance_);
  auto weight = gradient.tail(m);  // 1 - |C^-1/2 a_i|^2
  weight.setOnes();
  for (Index j = 0; j < rank_; ++j) {
    solved_.col(j).noalias() = a.lazyProduct(capacitance_.col(j));
    weight.array() -= solved_.col(j).array() * a.col(j).array();
    solved_.col(j).array() *= inverse_sd_.array();
  }
  root_.transposed_times(solved_, image_);
  Eigen::Map<Matrix>(gradient.data(), m, rank_) = image_.topRows(m) - v;
  weight.array() = (weight.array() / ratio_.array().square() - 1) * share_.array();
  return -.5 * (v.squaredNorm() + ratio_.squaredNorm() - log_determinant) -
         detail::sum_of_logs(inverse_sd_.data(), m);
}

}  // namespace magva
