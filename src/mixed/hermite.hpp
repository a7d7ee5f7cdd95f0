#pragma once
// Gauss-Hermite rules for expectations under a standard normal distribution.
#include "magva/types.hpp"

namespace magva::mixed {

/// Points in `dimension` dimensions, one per column, and the logarithms of weight * exp(|point|^2 / 2): what
/// a density is multiplied by after it was shifted and scaled to look standard normal, but for its constant
/// (2 pi)^(-dimension / 2).
struct HermiteRule {
  Matrix points;
  Vector log_weights;
  Index size() const { return log_weights.size(); }
};

/// The product rule with so many points along each axis (Golub & Welsch 1969).
HermiteRule hermite_rule(Index points, Index dimension);

}  // namespace magva::mixed
