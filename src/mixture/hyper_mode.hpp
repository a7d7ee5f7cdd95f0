#pragma once
// Where the hyper-parameters' marginal density is highest, the others integrated out: the first step of
// integrated nested Laplace approximations (Rue, Martino and Chopin 2009, section 3.1).
//
// The marginal density is that of the conditional ELBO, max over q of E_q[log h(u, v)] - E_q[log q(v)], whose
// gradient is E_q[d log h / du]: the draws that find the others' Gaussian have it, too.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "magva/posterior.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

/// From the mean of q, a Gaussian at the mode: of the hyper-parameters with the curvature that the way there
/// shows, and of the others given them. Nothing where the others cannot be followed.
std::optional<Gaussian> gaussian_at_hyper_mode(Evaluator& evaluator, const Gaussian& q,
                                               const std::shared_ptr<const HessianPattern>& pattern,
                                               const std::vector<Index>& hyper_parameters,
                                               std::uint64_t seed);

}  // namespace magva
