#pragma once
// One look at all rows: what the full model says around a Gaussian.
#include "core/evaluator.hpp"
#include "magva/posterior.hpp"
#include "models/anchored_minibatch.hpp"

namespace magva {

struct FullPass {
  Anchor anchor;       ///< at the mean
  double log_density;  ///< mean over the draws
  Vector step;         ///< of the mean: the natural gradient
  double gain;         ///< nats that the step promises, by the quadratic
};

/// With `draws` antithetic draws, the same for every Gaussian of a seed.
FullPass pass_over_all_rows(Evaluator& full, const Gaussian& q, Index draws, std::uint64_t seed);

/// The same covariance around another mean.
Gaussian moved(const Gaussian& q, ConstVectorRef mean);

}  // namespace magva
