#pragma once
// A hierarchical posterior as a mixture of Gaussians, by integrated nested Laplace approximations (Rue,
// Martino and Chopin 2009): given the few hyper-parameters all others are near a Gaussian, whose mass, for
// each value of the hyper-parameters, is their marginal density.
//
// That Gaussian is found at points along the hyper-parameters' axes, as far out as they have mass, and at
// corners between them; its mean is interpolated between these points. An importance sample then has the
// marginal density by one gradient a draw, and each point stands for the draws that are nearest to it.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mixture/conditional.hpp"
#include "mixture/gaussian_mixture.hpp"
#include "mixture/hyper_weights.hpp"

namespace magva {

struct MixtureAttempt {
  /// Null where the others are not near a Gaussian on the way, or where the sample does not cover the
  /// hyper-parameters' posterior.
  std::shared_ptr<const GaussianMixture> mixture;
  /// Where the hyper-parameters have far more mass than at q's mean: a Gaussian there, to begin again with.
  std::optional<Gaussian> elsewhere;
  /// Where the others are independent given the hyper-parameters: weights of these alone. Else null.
  std::shared_ptr<HyperWeights> weights;
};

/// `q`: the fitted Gaussian.
MixtureAttempt fit_mixture(Evaluator& evaluator, const Gaussian& q,
                           const std::shared_ptr<const HessianPattern>& pattern,
                           const std::vector<Index>& hyper_parameters, std::uint64_t seed);

/// Gradients that it takes, about.
std::int64_t mixture_cost(const HessianPattern& pattern, Index hyper_parameters);

/// Of a Hessian without zeros.
std::shared_ptr<const HessianPattern> full_pattern(Index dimension);

}  // namespace magva
