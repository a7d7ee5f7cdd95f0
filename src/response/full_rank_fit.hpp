#pragma once
// The best full-rank Gaussian by Newton steps with gradients at one set of draws.
//
// With the noise held fixed a step is a deterministic map, whose fixed point is the best Gaussian but for the
// noise of these draws; what the regression of gradients on draws leaves says how much that is. Near the
// fixed point the map contracts, slowly in few directions, if at all: one secant (Anderson 1965, with a
// memory of one step) takes these.
#include "response/gradient_sample.hpp"

namespace magva {

struct NewtonFit {
  RootedGaussian at;
  int steps;
  Index pairs;        ///< of the last step
  double left;        ///< nats that steps would still gain, as the last two of them say
  double noise_nats;  ///< that the noise of the draws costs
};

/// Gradients that it takes, about.
std::int64_t newton_fit_cost(Index dimension);

/// To within the tolerance, in nats, of the best one. Nothing where that takes too many draws or steps, where
/// steps do not contract, or where the log density is not finite at a draw.
std::optional<NewtonFit> fit_by_newton_steps(Evaluator& evaluator, RootedGaussian from, double tolerance,
                                             std::uint64_t seed);

}  // namespace magva
