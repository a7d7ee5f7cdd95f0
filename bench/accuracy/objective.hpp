#pragma once
// The ELBO of low-rank-plus-diagonal Gaussians as a function without noise, maximised by L-BFGS: an optimiser
// that has nothing in common with the default's.
#include <functional>
#include <memory>

#include "glm.hpp"

namespace magva::bench {

/// mean, W and d of N(mean, W W' + diag(d)^2), or derivatives by them.
struct Parts {
  Vector mean;
  Matrix factors;
  Vector residual;
};

/// E log h under a Gaussian, with its derivatives.
class Expected {
 public:
  virtual ~Expected() = default;
  virtual Index dimension() const = 0;
  virtual double value(const Parts& at, Parts& derivative) const = 0;
};

/// Exact for a Glm.
std::unique_ptr<Expected> exact_expectation(const Glm& glm);
/// The average over fixed draws, in antithetic pairs with exactly unit covariance: exact for a quadratic.
std::unique_ptr<Expected> sampled_expectation(const Model& model, Index rank, Index pairs);

/// R of coordinates mean + R u in which the mean is well scaled: products with R and with R'.
struct Frame {
  std::function<Vector(ConstVectorRef)> times, transposed;
};
Frame dense_frame(Matrix root);
Frame diagonal_frame(Vector scales);

Gaussian ascend(const Expected& expected, const Gaussian& start, const Frame& frame);

}  // namespace magva::bench
