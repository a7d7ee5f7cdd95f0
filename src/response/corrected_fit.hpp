#pragma once
// A fit with draws, its covariance by linear response, and the assessment of both.
#include <cstdint>
#include <optional>

#include "assess/assess.hpp"

namespace magva {

/// The largest m: a covariance is a matrix.
inline constexpr Index kMostResponseDimension = 2000;

/// What linear response makes of a Gaussian that was fitted with draws.
struct SampledCorrection {
  Gaussian corrected;
  double change;    ///< largest |log| of an sd's ratio to the fitted one's
  double se;        ///< of that logarithm
  double response;  ///< largest |log| of an sd's ratio to the best full-rank Gaussian's; NaN: not known
};

/// The correction of the best full-rank Gaussian, which a fit of low rank reaches by Newton steps from its
/// mean, with at most `gradients` more evaluations: by Hessians at pairs of draws where these suffice, else
/// by gradients alone. Nothing where they do not suffice either, or where there is none.
std::optional<SampledCorrection> correct_by_response(Evaluator& evaluator, const Gaussian& q,
                                                     std::int64_t gradients, std::uint64_t seed);

/// Whether the posterior is no further from `corrected` than from q, as far as importance weights can tell.
bool no_further(Evaluator& evaluator, const Gaussian& q, const Gaussian& corrected, std::uint64_t seed);

struct AssessedGaussian {
  Gaussian posterior;  ///< q, with its correction where that is significant and holds
  Assessment assessment;
  double sd_se = 0;  ///< of the correction, as in SampledCorrection
};

/// A fit with draws that took `gradients`. ELBO and its standard error are those of q itself.
AssessedGaussian assess_with_response(Evaluator& evaluator, const Gaussian& q, const FitEnding& ending,
                                      AssessmentOptions options, std::int64_t gradients);

}  // namespace magva
