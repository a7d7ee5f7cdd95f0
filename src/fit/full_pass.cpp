#include "fit/full_pass.hpp"

#include <limits>

namespace magva {

FullPass pass_over_all_rows(Evaluator& full, const Gaussian& q, Index draws, std::uint64_t seed) {
  const Index half = draws / 2;
  const Matrix deviation = q.draws(half, seed).colwise() - q.mean();
  Matrix theta(q.dimension(), 1 + 2 * half);
  theta.col(0) = q.mean();
  theta.middleCols(1, half) = deviation.colwise() + q.mean();
  theta.rightCols(half) = (-deviation).colwise() + q.mean();
  Vector log_density(theta.cols());
  Matrix gradient(theta.rows(), theta.cols());
  full.evaluate(theta, log_density, gradient);
  const Vector mean_gradient = gradient.rightCols(2 * half).rowwise().mean();
  FullPass pass{{q.mean(), log_density(0), gradient.col(0)},
                log_density.tail(2 * half).mean(),
                q.times(mean_gradient),
                0};
  pass.gain = .5 * mean_gradient.dot(pass.step);
  return pass;
}

Gaussian moved(const Gaussian& q, ConstVectorRef mean) {
  return q.is_dense() ? Gaussian::dense(mean, q.factors())
                      : Gaussian::low_rank(mean, q.factors(), q.residual_sd());
}

}  // namespace magva
