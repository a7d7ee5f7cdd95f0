#pragma once
// Mean, sd and quantiles of what a fit is about, on the user's scale.
#include <cstdint>
#include <string>
#include <vector>

#include "magva/fit_folder.hpp"

namespace magva::results {

/// Of the central intervals in a record.
inline constexpr double kRecordLevel = .9;

struct PosteriorSummary {
  std::vector<ParameterSummary> parameters;
  Index draws = 0;   ///< from which those that are not exact were computed; 0 if all are
  Index failed = 0;  ///< draws that the model could not report
};

/// The error of an sd from so many draws in antithetic pairs is .007 of it, and that of a mean less than .007
/// sds; of a fit that was stopped early, whose moments are rougher than that, few draws must do.
inline constexpr Index kSummaryDraws = 20'000;
inline constexpr Index kHurriedSummaryDraws = 400;
/// For the sds of a Gaussian beside those of a better posterior, to .011.
inline constexpr Index kGaussianSummaryDraws = 4'000;

/// Linear combinations of the coordinates of a Gaussian theta have exact Gaussian marginals, their
/// exponentials log-normal ones; everything else is summarised from draws. The outer quantiles, q05 and q95,
/// are those of the central interval at this level.
PosteriorSummary summarise(const source::Reporter& reporter, const Posterior& posterior, std::uint64_t seed,
                           double level = kRecordLevel, Index most_draws = kSummaryDraws);

/// The sds alone.
Vector summarise_sds(const source::Reporter& reporter, const Posterior& posterior, std::uint64_t seed,
                     Index most_draws);

/// All quantities from these draws of theta, one column per draw.
PosteriorSummary summarise(const source::Reporter& reporter, const Matrix& theta, std::uint64_t seed,
                           double level = kRecordLevel);

/// Gives a coordinate of a Gaussian another sd, with the standard error of its logarithm.
void take_estimate(ParameterSummary& parameter, double sd, double se, double level);

/// Quantiles of the same marginals as in a summary with this seed and as many draws as it may have: one row
/// per quantity, one column per probability.
Matrix quantiles(const source::Reporter& reporter, const Posterior& posterior, std::uint64_t seed,
                 const std::vector<double>& probabilities);

/// The quantile of sorted values by linear interpolation (type 7 of Hyndman & Fan).
double quantile(const std::vector<double>& sorted, double probability);

}  // namespace magva::results
