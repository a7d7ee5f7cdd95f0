#pragma once
// Covariances by linear response from gradients at pairs of draws alone: for more parameters than Hessians
// at draws can be had for.
//
// With the third derivatives T under the Gaussian, the covariance's answer takes G = T T' / 2, over two of
// three indices, off the mean's precision, to leading order; and G is the covariance of the gradients' even
// part, but for a share of the fifth derivatives. Fourth derivatives bend it. Along the direction in which
// it is largest the whole response is found, and G / (1 + bend G), which has it there, is taken off in all.
#include "response/gradient_sample.hpp"
#include "response/response_probe.hpp"

namespace magva {

struct PairedResponse {
  Matrix covariance;  ///< of z
  Matrix damping;     ///< (1 + bend G)^-1
  double scale;       ///< of the even part's covariance, which makes it G
};

/// The largest part of the mean's precision along any direction that is taken away, and that direction.
struct LargestTaken {
  double value;
  Vector direction;
};
LargestTaken largest_taken(const GradientSample& sample);

/// `share`: of the even part's covariance, the third derivatives'. Nothing where that is no covariance.
std::optional<PairedResponse> paired_response(const GradientSample& sample, double share, double bend);
/// With what a probe along the largest direction has found.
std::optional<PairedResponse> paired_response(const GradientSample& sample, const TakenPrecision& probe);
/// The same with the covariance held fixed: the inverse of E[-Hessian].
std::optional<PairedResponse> fixed_response(const GradientSample& sample);

/// Standard error of tilt' covariance tilt, from the spread of the pairs.
double response_se(const GradientSample& sample, const PairedResponse& response, const Vector& tilt);

}  // namespace magva
