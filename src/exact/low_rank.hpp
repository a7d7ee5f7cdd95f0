#pragma once
// The best low-rank Gaussian without draws: L-BFGS on the exact ELBO over mean, Stiefel factors and
// residuals, and the search for the highest of its local maxima.
#include <optional>

#include "exact/low_rank_coordinates.hpp"
#include "exact/newton.hpp"

namespace magva {

struct LowRankFit {
  LowRankPoint at;
  double elbo;
  ExactStop stop;
  std::optional<Matrix> curvature;  ///< E[-Hessian] there or nearby, if the fit has come to know it
};

/// What scales an ascent: the curvature if it is dense, and the sds that its diagonal gives.
struct AscentScales {
  Vector conditional_sd;
  std::optional<Matrix> curvature;
};

/// The local maximum above a point.
LowRankFit ascend_low_rank(ExactElbo& elbo, const LowRankPoint& start, const AscentScales& scales,
                           double tolerance, const ExactObserver& go_on);

/// The highest local maximum found from `start` on.
LowRankFit fit_low_rank(ExactElbo& elbo, const LowRankPoint& start, const AscentScales& scales,
                        std::uint64_t seed, const ExactObserver& go_on);

}  // namespace magva
