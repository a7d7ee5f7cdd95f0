#pragma once
// The best Gaussian of a family for a Glm, found without noise: Newton steps for the mean and the best
// low-rank Gaussian for the expected curvature, damped, until the exact ELBO no longer rises.
#include "glm.hpp"

namespace magva::bench {

struct Optimum {
  Gaussian gaussian;
  double elbo;
};

/// `rank` m is full rank. `from`: a mean to start at.
Optimum best_gaussian(const Glm& glm, Index rank, ConstVectorRef from);

}  // namespace magva::bench
