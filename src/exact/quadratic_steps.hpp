#pragma once
// Newton-like steps to a low-rank Gaussian, as those of newton.hpp are to the best of full rank: each goes to
// the mean and the low-rank covariance that would be best were C = E[-Hessian] constant. One pass over the
// data, with C, for a step; the covariance is sought without data (search/quadratic_fit.hpp). Where there are
// many observations for each parameter C hardly changes, and a few steps are all; where there are few, an
// ascent by gradients goes on from where these steps end.
#include "exact/low_rank_coordinates.hpp"
#include "exact/newton.hpp"

namespace magva {

/// Where such steps end, with C there.
struct QuadraticClimb {
  LowRankPoint at;
  double elbo;
  Matrix curvature;  ///< positive definite
  ExactStop stop;    ///< converged: the next step would gain less than the tolerance
};

/// From a start with a finite ELBO, or the start itself.
QuadraticClimb climb_by_quadratics(ExactElbo& elbo, LowRankPoint start, double tolerance,
                                   const ExactObserver& go_on);

}  // namespace magva
