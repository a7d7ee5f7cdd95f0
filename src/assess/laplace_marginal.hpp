#pragma once
// The marginal density of one coordinate by Laplace's method (Tierney and Kadane 1986), with some draws at
// every point: the others are at their conditional mode, and their curvature there says how wide they are. It
// follows a posterior into the neck of a funnel, where no straight line and no draw of a Gaussian goes.
#include <optional>
#include <vector>

#include "assess/marginals.hpp"
#include "core/evaluator.hpp"

namespace magva {

/// How far the marginal of theta_i is from that of q, from as far out as the density has any mass. Nothing
/// where a conditional mode is not found, or where the draws around it show that the others are not near a
/// Gaussian given theta_i.
std::optional<MarginalError> laplace_marginal(Evaluator& evaluator, const Gaussian& q, Index i,
                                              std::uint64_t seed);

/// The same walk's findings about every coordinate, in their order: given theta_i the others are near a
/// Gaussian, so that their moments are a mixture of these Gaussians'. The sd of a group says so how wide its
/// mean is.
std::optional<std::vector<MarginalError>> laplace_marginals(Evaluator& evaluator, const Gaussian& q, Index i,
                                                            std::uint64_t seed);

/// Gradients that it takes, about.
std::int64_t laplace_marginal_cost(Index dimension);

}  // namespace magva
