#pragma once
// The best full-rank Gaussian for a Glm, whose log density is concave: Newton steps for the mean and the
// expected curvature as the precision (Opper and Archambeau 2009), damped, until the exact ELBO no longer
// rises.
#include "glm.hpp"

namespace magva::bench {

struct NewtonOptimum {
  Vector mean;
  Matrix curvature;  ///< the precision
  double elbo;
};

NewtonOptimum best_full_rank(const Glm& glm);

}  // namespace magva::bench
