#include "low_rank_step.hpp"

#include <Eigen/LU>

namespace magva::bench {

PlainLowRank::PlainLowRank(PlainModel model, Index dimension, Index rank, Index draws)
    : model_(std::move(model)),
      draws_(draws),
      mean_(Matrix::Zero(dimension, 1)),
      factors_(Matrix::Random(dimension, rank) / std::sqrt(static_cast<double>(dimension))),
      residual_(Matrix::Constant(dimension, 1, .1)),
      of_mean_{Matrix::Zero(dimension, 1), Matrix::Zero(dimension, 1)},
      of_factors_{Matrix::Zero(dimension, rank), Matrix::Zero(dimension, rank)},
      of_residual_{Matrix::Zero(dimension, 1), Matrix::Zero(dimension, 1)} {}

void PlainLowRank::update(Matrix& x, const Matrix& gradient, Moments& moments) const {
  constexpr double kBeta = .95;
  constexpr double kEpsilon = 1e-6;
  moments.squares = kBeta * moments.squares + (1 - kBeta) * gradient.cwiseAbs2();
  const Matrix step =
      ((moments.steps.array() + kEpsilon) / (moments.squares.array() + kEpsilon)).sqrt() * gradient.array();
  moments.steps = kBeta * moments.steps + (1 - kBeta) * step.cwiseAbs2();
  x += step;
}

void PlainLowRank::step() {
  const Index m = mean_.rows();
  const Index p = factors_.cols();
  std::normal_distribution<double> normal;
  const Matrix z = Matrix::NullaryExpr(p, draws_, [&] { return normal(generator_); });
  const Matrix epsilon = Matrix::NullaryExpr(m, draws_, [&] { return normal(generator_); });
  Matrix theta = factors_ * z + residual_.col(0).asDiagonal() * epsilon;
  theta.colwise() += mean_.col(0);
  Vector log_density(draws_);
  Matrix g(m, draws_);
  model_(theta, log_density, g);
  const Vector w = residual_.col(0).array().square().inverse();
  const Matrix wb = w.asDiagonal() * factors_;
  const Matrix k = (Matrix::Identity(p, p) + factors_.transpose() * wb).inverse();
  const Matrix wbk = wb * k;
  const Vector precision = w - wbk.cwiseProduct(wb).rowwise().sum();
  const double share = 1 / static_cast<double>(draws_);
  const Matrix to_factors = share * g * z.transpose() + wbk;
  const Matrix to_residual =
      share * g.cwiseProduct(epsilon).rowwise().sum() + precision.cwiseProduct(residual_.col(0));
  const Matrix to_mean = g.rowwise().mean();
  update(mean_, to_mean, of_mean_);
  update(factors_, to_factors, of_factors_);
  update(residual_, to_residual, of_residual_);
}

}  // namespace magva::bench
