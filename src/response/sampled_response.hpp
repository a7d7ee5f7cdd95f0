#pragma once
// Covariances by linear response (Giordano, Broderick and Jordan 2018) of a Gaussian fitted with draws: the
// derivative of its mean under a tilt exp(t' theta) of the posterior.
//
// In coordinates z in which the Gaussian is N(0, I), a move of the mean by u and of the covariance by S
// changes a draw z by w = u + S z / 2. With D = I + Hessian of the log density, minus the ELBO's second
// derivative is
//   u' (I - E D) u + |S|^2 / 2 - E[w' (D - E D) w],
// in which only the last term has a non-Gaussian posterior's third and fourth derivatives; so there is no
// noise for a Gaussian one. Minimised over S for every u, its first part is the inverse of the response.
#include <optional>

#include "response/hessian_sample.hpp"

namespace magva {

struct SampledResponse {
  Matrix covariance;  ///< of z
  /// How the covariance answers a unit move of each coordinate of the mean.
  std::vector<Matrix> moves;
};

/// Nothing where the ELBO has no maximum there.
std::optional<SampledResponse> linear_response(const HessianSample& sample);

/// Standard error of tilt' covariance tilt, from the spread of the pairs.
double response_se(const HessianSample& sample, const SampledResponse& response, const Vector& tilt);

/// Multiplications of linear_response, about.
double sampled_response_work(Index dimension, Index pairs);

}  // namespace magva
