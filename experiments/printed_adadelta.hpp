#pragma once
// RGD-AdaDelta on Stiefel exactly as printed, in plain double precision and without the engine's dropping of
// what overflows: where does it stop being finite?
#include "experiments/method.hpp"
#include "magva/model.hpp"

namespace magva::experiments {

struct PrintedAdadelta {
  std::int64_t first_not_finite;  ///< iteration; 0 if all is finite to the end
  double largest_step;            ///< entry of Delta B, by magnitude, as long as it is finite
  double negative_share;  ///< of the entries of E(g^2) over all iterations: what no Euclidean rule has
};

/// Algorithm 1 from mu = 0 with the paper's equations and Woodbury's identity, one draw per iteration; mu, d1
/// and d2 by ADADELTA.
PrintedAdadelta follow_printed_adadelta(const Model& model, Index rank, const StartingValues& start,
                                        std::int64_t iterations, std::uint64_t seed);

}  // namespace magva::experiments
