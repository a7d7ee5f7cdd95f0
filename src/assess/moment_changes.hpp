#pragma once
// How importance weights change means and sds. Both are of the same draws, whose noise is in both: where
// weights are nearly equal a few hundred draws show to a hundredth of an sd that nothing changes.
#include "magva/types.hpp"

namespace magva {

/// Of quantities, one row each. NaN for a quantity that is not finite at all draws.
struct MomentChanges {
  Vector mean, sd;
  Vector weighted_mean, weighted_sd;
  /// Standard errors of what the weights add to the mean, and to the logarithm of the sd.
  Vector mean_se, log_sd_se;
};

/// `values`: one column per draw; `weights` sum to 1.
MomentChanges moment_changes(const Matrix& values, const Vector& weights);

}  // namespace magva
