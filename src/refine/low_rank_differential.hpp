#pragma once
// The ELBO's differential in W and log d of Sigma = W W' + diag(d)^2, estimated from antithetic pairs.
//
// With G = sym E[(g + Sigma^-1 delta) delta' Sigma^-1], where g is the half-difference of a pair's gradients,
// it is (G W, diag(G) d^2). A matrix A near E[-Hessian] lowers its noise: G = Sigma^-1 - A + sym E[(g + A
// delta) delta' Sigma^-1] for every A.
#include "refine/sketched_curvature.hpp"

namespace magva {

/// With A where it is of use for this batch, with Sigma^-1 in its place elsewhere.
CovarianceTangent low_rank_differential(const LowRankCovariance& sigma, const PairBatch& batch,
                                        PairRange pairs, const ExpectedCurvature* curvature);

/// The same without the blocks between the directions in which the curvature is known and all others: these
/// are nearly zero, and most of the noise where m is large.
CovarianceTangent block_differential(const LowRankCovariance& sigma, const PairBatch& batch, PairRange pairs,
                                     const SketchedCurvature& curvature);

}  // namespace magva
