#pragma once
// Modes that a fit has not seen: searches that end elsewhere, from random directions, far out, and from
// reflections of its own mode.
#include <cstdint>
#include <optional>

#include "core/evaluator.hpp"
#include "magva/posterior.hpp"

namespace magva {

struct OtherMode {
  Vector theta;
  double share;  ///< of the mass of both, by Laplace's method
};

/// The mode away from q with the most mass; nothing where all searches end near q, or where m is too large to
/// look around. `q` must be dense.
std::optional<OtherMode> find_other_mode(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed);

}  // namespace magva
