#pragma once
// Where a refinement starts: the best Gaussian of the wanted rank for the curvature at a candidate.
#include <optional>

#include "refine/refinement.hpp"
#include "search/curvature.hpp"
#include "search/rank_choice.hpp"
#include "search/starts.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

/// Posterior sds assumed where there is no curvature: the steps, of up to a factor e each, find the right
/// ones.
inline constexpr double kBlindSd = .1;

/// What is known of the curvature at the best candidate, and how many factors are to be fitted.
struct CovarianceShape {
  RankChoice choice;
  std::optional<CurvatureSketch> sketch;  ///< where m is too large for a dense curvature
  /// Of the Hessian, where the rank is full and it is sparse; else null.
  std::shared_ptr<const HessianPattern> pattern;
};

/// `rank`: as asked for; unset: as many as pay. `pattern`: of the Hessian, where it is sparse.
CovarianceShape choose_shape(Evaluator& evaluator, const Candidate& candidate, std::optional<Index> rank,
                             const std::shared_ptr<const HessianPattern>& pattern, std::uint64_t seed);

/// The best Gaussian for the quadratic at a candidate.
GaussianStart quadratic_start(Evaluator& evaluator, const Candidate& candidate, const CovarianceShape& shape,
                              std::uint64_t seed);
/// The same, with bounds on its sds and shrunk to the scale with the best ELBO.
GaussianStart make_start(Evaluator& evaluator, const Candidate& candidate, const CovarianceShape& shape,
                         std::uint64_t seed);

}  // namespace magva
