#pragma once
// The marginal density of one coordinate by Laplace's method (Tierney and Kadane 1986), with some draws at
// every point: the others are at their conditional mode, and their curvature there says how wide they are. It
// follows a posterior into the neck of a funnel, where no straight line and no draw of a Gaussian goes.
#include <functional>
#include <optional>
#include <vector>

#include "assess/marginals.hpp"
#include "core/evaluator.hpp"

namespace magva {

struct LaplaceWalk {
  std::vector<MarginalError> errors;  ///< of every coordinate, in their order
  PosteriorSample sample;
};

/// How far the marginal of theta_i is from that of q, from as far out as the density has any mass; and those
/// of all others: given theta_i they are near a Gaussian, so that their moments are a mixture of these
/// Gaussians'. The sd of a group says so how wide its mean is. Nothing where a conditional mode is not found,
/// or where the draws around it show that the others are not near a Gaussian given theta_i.
std::optional<LaplaceWalk> laplace_walk(Evaluator& evaluator, const Gaussian& q, Index i, std::uint64_t seed);

/// Whether the marginal of theta_i has mass far from q's, where the others are elsewhere, too, so that no
/// straight line shows it: a look at few points, for a walk to follow.
bool has_far_mass(Evaluator& evaluator, const Gaussian& q, Index i);

/// The others' conditional modes at points of theta_i, in their order, and the log marginal density there by
/// Laplace's value alone: without draws, and so without noise.
struct ModePath {
  Vector z;  ///< in sds of q, 0 among them
  Vector log_density;
  Matrix theta;  ///< one column per point
};

/// Out to where the density, and the density times exp(log_part(theta)), have fallen to nothing, or to the
/// last mode that is found. Nothing where there is none at z = 0.
std::optional<ModePath> conditional_modes(Evaluator& evaluator, const Gaussian& q, Index i,
                                          const std::function<double(ConstVectorRef)>& log_part);

/// Gradients that each takes, about; two values count as one.
std::int64_t laplace_marginal_cost(Index dimension);
std::int64_t far_mass_cost(Index dimension);

}  // namespace magva
