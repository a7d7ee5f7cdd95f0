#include "refine/low_rank_differential.hpp"

namespace magva {

namespace {

/// sym E[residual delta' Sigma^-1] as a differential.
CovarianceTangent estimated_part(const LowRankCovariance& sigma, const Matrix& residual,
                                 const Matrix& precision_times_delta) {
  const double share = 1 / static_cast<double>(residual.cols());
  const Matrix& w = sigma.factors();
  return {(.5 * share) * (residual * (precision_times_delta.transpose() * w) +
                          precision_times_delta * (residual.transpose() * w)),
          share * residual.cwiseProduct(precision_times_delta)
                      .rowwise()
                      .sum()
                      .cwiseProduct(sigma.residual_sd().cwiseAbs2())};
}

/// Sigma^-1 - A.
CovarianceTangent expected_part(const LowRankCovariance& sigma, const ExpectedCurvature& curvature) {
  return {
      sigma.solve(sigma.factors()) - curvature.times(sigma.factors(), sigma),
      (sigma.inverse_diagonal() - curvature.diagonal(sigma)).cwiseProduct(sigma.residual_sd().cwiseAbs2())};
}

}  // namespace

CovarianceTangent low_rank_differential(const LowRankCovariance& sigma, const PairBatch& batch,
                                        PairRange pairs, const ExpectedCurvature* curvature) {
  const auto g = batch.half_difference.middleCols(pairs.first, pairs.count);
  const Matrix precision_times_delta = batch.precision_times_delta.middleCols(pairs.first, pairs.count);
  if (curvature == nullptr || !curvature->in_use())
    return estimated_part(sigma, g + precision_times_delta, precision_times_delta);
  const Matrix residual = g + curvature->times(batch.deviation.middleCols(pairs.first, pairs.count), sigma);
  return combine(1, expected_part(sigma, *curvature), 1,
                 estimated_part(sigma, residual, precision_times_delta));
}

// For directions that A leaves alone, E[(g + A delta) delta' Sigma^-1] has no blocks between these and the
// rest; but the noise of a few directions with large gradients, times the draws of all others, is there.
CovarianceTangent block_differential(const LowRankCovariance& sigma, const PairBatch& batch, PairRange pairs,
                                     const SketchedCurvature& curvature) {
  const Matrix precision_times_delta = batch.precision_times_delta.middleCols(pairs.first, pairs.count);
  const Matrix residual = batch.half_difference.middleCols(pairs.first, pairs.count) +
                          curvature.times(batch.deviation.middleCols(pairs.first, pairs.count), sigma);
  const Matrix known_delta = curvature.known_part(precision_times_delta);
  const Matrix known_residual = curvature.known_part(residual);
  const CovarianceTangent known = estimated_part(sigma, known_residual, known_delta);
  const CovarianceTangent rest =
      estimated_part(sigma, residual - known_residual, precision_times_delta - known_delta);
  return combine(1, expected_part(sigma, curvature), 1, combine(1, known, 1, rest));
}

}  // namespace magva
