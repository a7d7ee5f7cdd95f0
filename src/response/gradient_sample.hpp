#pragma once
// Gradients of a log density at antithetic pairs of a Gaussian's draws: two of them a pair, where Hessians
// take 2 (m + 1), and still nearly all that linear response needs.
#include <cstdint>
#include <optional>

#include "core/evaluator.hpp"
#include "response/hessian_sample.hpp"

namespace magva {

/// In the coordinates z of theta = mean + root z, with D = I + Hessian. The gradient at +-z is an even part
/// +- an odd one: a regression of the odd part on z has E[Hessian] as its slope (Stein's identity), and the
/// even part's covariance is half the third derivatives' contraction with themselves over two indices, and a
/// little of the fifth's.
struct GradientSample {
  Matrix noise;           ///< z, one column per pair, with exactly the second moments of N(0, I)
  Matrix residual;        ///< of the odd part: what is not linear in z; 0 for a Gaussian posterior
  Matrix even;            ///< less its mean; 0 for a Gaussian posterior
  Matrix excess;          ///< E D, with its noise; 0 at the best full-rank Gaussian
  double diagonal_share;  ///< of the squares of the diagonal of E D, less its mean, that is no noise
  double other_share;     ///< the same beside the diagonal
  Vector gradient;        ///< mean of the gradients by z
  double excess_noise;    ///< expected squares of the noise in E D, all entries together

  Index dimension() const { return noise.rows(); }
  Index pairs() const { return noise.cols(); }
  /// Nats that a Newton step would gain, to second order; of its own noise it gains as much as follows.
  double gain() const { return .25 * excess.squaredNorm() + .5 * gradient.squaredNorm(); }
  double noise_nats() const;
  /// E D, each part shrunk to its share, and to at most so much.
  Matrix shrunk_excess(double most = 1) const;
};

/// Of more pairs than dimensions. Nothing where the log density is not finite at a draw.
std::optional<GradientSample> sample_gradients(Evaluator& evaluator, const RootedGaussian& at, Index pairs,
                                               std::uint64_t seed);

}  // namespace magva
