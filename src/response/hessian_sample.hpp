#pragma once
// Hessians of a log density at antithetic pairs of a Gaussian's draws, by differences of gradients.
#include <cstdint>
#include <optional>
#include <vector>

#include "core/evaluator.hpp"

namespace magva {

/// N(mean, root root'), with a lower triangular root.
struct RootedGaussian {
  Vector mean;
  Matrix root;
};

/// In the coordinates z of theta = mean + root z: D = I + Hessian, which is 0 everywhere if the log density
/// is that of the Gaussian. At each pair +-z half the sum of the two, less the mean over all pairs, and half
/// their difference.
struct HessianSample {
  Matrix noise;  ///< z, one column per pair
  std::vector<Matrix> even;
  std::vector<Matrix> odd;
  Matrix mean;      ///< of D; 0 at the best full-rank Gaussian
  Vector gradient;  ///< mean of the gradients by z

  Index dimension() const { return noise.rows(); }
  Index pairs() const { return noise.cols(); }
};

/// Gradients that a sample takes.
std::int64_t sample_cost(Index dimension, Index pairs);

/// With at least as many pairs as dimensions the noise has exactly the second moments of N(0, I), so that
/// what is linear in z is integrated without error. Nothing where the log density is not finite at a draw.
std::optional<HessianSample> sample_hessians(Evaluator& evaluator, const RootedGaussian& at, Index pairs,
                                             std::uint64_t seed);

}  // namespace magva
