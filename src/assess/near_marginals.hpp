#pragma once
// Which marginals are the Gaussian's, by the importance weights of its own draws: no evaluations beside
// theirs.
#include <cstdint>
#include <vector>

#include "magva/diagnostics.hpp"
#include "magva/posterior.hpp"
#include "magva/workers.hpp"

namespace magva {

/// How weights of q's draws move each coordinate's marginal: the mean, in q's sds, and the log of the sd.
/// Differences from what the draws say without weights: where these vary little, their standard errors are
/// far below those of weighted moments.
struct WeightedChange {
  Vector shift, log_sd;
  Vector shift_se, log_sd_se;
};

/// By the draws of q from which its ELBO is estimated with this seed; `weights` sum to 1.
WeightedChange weighted_change(const Gaussian& q, std::uint64_t seed, ConstVectorRef weights,
                               Workers& workers);

/// For each coordinate of a concave log density, whether the weights show its marginal to be within `bound`
/// of q's, by its mean in sds and by the log of its sd; empty where they do not tell. Marginals of such a
/// density are log-concave (Prekopa 1973): from what the draws have seen they fall off at least as an
/// exponential does, and they have no mass elsewhere.
std::vector<bool> near_marginals(const Gaussian& q, std::uint64_t seed, const SmoothedWeights& weights,
                                 double bound, Workers& workers);

}  // namespace magva
