#pragma once
// One step of Algorithm 1 as one would first write it: VAFC with AdaDelta, each formula an Eigen expression.
#include <functional>
#include <random>

#include "magva/types.hpp"

namespace magva::bench {

/// log h and its gradient, a column a draw.
using PlainModel = std::function<void(const Matrix& theta, Vector& log_density, Matrix& gradient)>;

class PlainLowRank {
 public:
  PlainLowRank(PlainModel model, Index dimension, Index rank, Index draws);
  void step();

 private:
  struct Moments {
    Matrix squares, steps;
  };
  void update(Matrix& x, const Matrix& gradient, Moments& moments) const;

  PlainModel model_;
  Index draws_;
  std::mt19937_64 generator_{1};
  Matrix mean_, factors_, residual_;
  Moments of_mean_, of_factors_, of_residual_;
};

}  // namespace magva::bench
