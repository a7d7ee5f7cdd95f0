#include "mixture/hyper_cells.hpp"

#include <Eigen/Cholesky>

#include <cmath>
#include <numbers>

namespace magva {

namespace {

/// What was known of a cell counts as so many draws, for each of its axes and one, when it is updated.
constexpr double kDrawsKnown = 2;
/// Added to variances, in units of the axes.
constexpr double kLeastVariance = 1e-6;

}  // namespace

std::vector<HyperCell> cells_of(const Matrix& places, const Matrix& mass) {
  std::vector<HyperCell> out;
  for (Index j = 0; j < mass.rows(); ++j) {
    const Vector share = mass.row(j);
    HyperCell cell{share.sum(), 0, Vector::Zero(places.rows()), Matrix::Zero(places.rows(), places.rows())};
    if (cell.weight > 0) {
      cell.effective = cell.weight * cell.weight / share.squaredNorm();
      cell.mean = places * share / cell.weight;
      const Matrix apart = places.colwise() - cell.mean;
      cell.covariance = apart * (share / cell.weight).asDiagonal() * apart.transpose();
    }
    out.push_back(std::move(cell));
  }
  return out;
}

Vector log_density(const std::vector<HyperCell>& cells, const Matrix& places) {
  Vector sum = Vector::Zero(places.cols());
  for (const HyperCell& cell : cells) {
    if (!(cell.weight > 0)) continue;
    const Eigen::LLT<Matrix> factor(cell.covariance);
    const Matrix z = factor.matrixL().solve(places.colwise() - cell.mean);
    const double log_scale = Matrix(factor.matrixL()).diagonal().array().log().sum() +
                             .5 * static_cast<double>(places.rows()) * std::log(2 * std::numbers::pi);
    sum.array() += cell.weight * (-.5 * z.colwise().squaredNorm().transpose().array() - log_scale).exp();
  }
  return sum.array().log();
}

std::vector<HyperCell> with_pooled_covariance(std::vector<HyperCell> cells) {
  const Index d = cells.front().mean.size();
  const auto from_all = static_cast<double>(d + 1);
  Matrix pooled = kLeastVariance * Matrix::Identity(d, d);
  for (const HyperCell& cell : cells) pooled += cell.weight * cell.covariance;
  for (HyperCell& cell : cells)
    cell.covariance = (cell.effective * cell.covariance + from_all * pooled) / (cell.effective + from_all);
  return cells;
}

std::vector<HyperCell> updated_cells(const std::vector<HyperCell>& before,
                                     const std::vector<HyperCell>& found, double effective_draws) {
  const auto all = static_cast<double>(before.size());
  std::vector<HyperCell> out = before;
  for (std::size_t j = 0; j < before.size(); ++j) {
    HyperCell& cell = out[j];
    const HyperCell& by_weights = found[j];
    // As if each cell had one draw from before: a Dirichlet distribution of the weights.
    cell.weight = (effective_draws * by_weights.weight + all * cell.weight) / (effective_draws + all);
    if (!(by_weights.weight > 0)) continue;
    // The mean and covariance of a normal distribution with a conjugate prior.
    const double known = kDrawsKnown * static_cast<double>(cell.mean.size() + 1);
    const double own = by_weights.effective / (by_weights.effective + known);
    const Vector move = by_weights.mean - cell.mean;
    cell.covariance =
        own * by_weights.covariance + (1 - own) * cell.covariance + own * (1 - own) * move * move.transpose();
    cell.mean += own * move;
    cell.effective += by_weights.effective;
  }
  return out;
}

}  // namespace magva
