#pragma once
// Newton-like steps to a low-rank Gaussian, as those of newton.hpp are to the best of full rank: each goes to
// the mean and the low-rank covariance that would be best were C = E[-Hessian] constant. One pass over the
// data for a step; the covariance is sought without data (search/quadratic_fit.hpp). Where C itself is
// costly, most passes only correct an older one (corrected_curvature.hpp). Where there are many observations
// for each parameter C hardly changes, and a few steps are all; where there are few, an ascent by gradients
// goes on from where these steps end.
#include "exact/low_rank_coordinates.hpp"
#include "exact/newton.hpp"

namespace magva {

/// Where the C of a point was computed, which is corrected unless that is here: at an earlier point of the
/// ascent, or before it began.
enum class CurvatureSource { kHere, kNearby, kElsewhere };

/// Where such steps end.
struct QuadraticAscent {
  LowRankPoint at;
  CurvedElbo here;  ///< with a positive definite curvature
  CurvatureSource source;
  ExactStop stop;  ///< converged: the next step would gain less than the tolerance
};

/// From a start with a finite ELBO, or the start itself.
QuadraticAscent ascend_by_quadratics(ExactElbo& elbo, LowRankPoint start, double tolerance,
                                     const ExactObserver& go_on);
/// The first step is taken with a positive definite C from elsewhere, corrected.
QuadraticAscent ascend_by_quadratics(ExactElbo& elbo, LowRankPoint start, const Matrix& elsewhere,
                                     double tolerance, const ExactObserver& go_on);

/// Goes on from near a maximum until a step would gain nothing that can be seen in the ELBO, with covariances
/// that are the quadratic's best to rounding: the same end, to rounding, from wherever nearby the ascent has
/// ended. False where steps no longer rise, or hardly converge.
bool settle_by_quadratics(ExactElbo& elbo, QuadraticAscent& ascent, const ExactObserver& go_on);

}  // namespace magva
