#pragma once
// The whole linear response along one direction of the mean, by products with Hessians at pairs of draws.
#include <cstdint>
#include <optional>

#include "core/evaluator.hpp"
#include "response/hessian_sample.hpp"

namespace magva {

/// Of the mean's precision along a unit vector, what the covariance's answer takes away.
struct TakenPrecision {
  double leading;  ///< to leading order: by third derivatives alone
  double whole;
  double higher;  ///< variance of the gradients' even part that third derivatives do not explain
};

/// Gradients that a probe usually takes at most.
std::int64_t probe_cost(Index dimension);

/// `excess`: E D as in HessianSample. Nothing where the ELBO has no maximum along it, or where the log
/// density is not finite at a draw.
std::optional<TakenPrecision> probe_response(Evaluator& evaluator, const RootedGaussian& at,
                                             const Matrix& excess, const Vector& direction,
                                             std::uint64_t seed);

}  // namespace magva
