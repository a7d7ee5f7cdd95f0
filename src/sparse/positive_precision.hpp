#pragma once
// A curvature with a pattern as the precision of a Gaussian, which it need not be away from a mode.
#include "sparse/hessian_pattern.hpp"

namespace magva {

struct PositivePrecision {
  std::shared_ptr<const FactoredPrecision> precision;  ///< null where the curvature is not finite
  double damping = 0;                                  ///< share of the diagonal that had to be added
};

/// With the least share of its own diagonal added that makes it positive definite.
PositivePrecision make_positive(const HessianPattern& pattern, const Vector& curvature);

}  // namespace magva
