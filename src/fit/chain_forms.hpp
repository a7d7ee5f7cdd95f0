#pragma once
// How far what chains find is from an approximation, and the approximations that have it: shifted and
// stretched, with other margins, or with another covariance.
#include <optional>

#include "assess/short_chains.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// Standard errors of a change that may be a doubt.
inline constexpr double kSuspiciousErrors = 2;

/// How far moments of chains are from those of an approximation, in its sds and as logarithms.
struct ChainChange {
  Vector shift, log_sd;
  Vector shift_se, log_sd_se;

  ChainChange(const ChainMoments& chains, const Vector& mean, const Vector& sd);
  /// In units of the larger sd: where the chains' is larger, so is what a mean may be off by. Less so many
  /// standard errors.
  double size(Index i, double standard_errors = 0) const;
  /// What it may be, as far as chance goes.
  double largest(Index i) const { return size(i, -kSuspiciousErrors); }
  /// Less than a doubt, perhaps, but more than what is left to chance.
  bool suspicious(Index i) const;
  double error(Index i) const;
};

/// The largest m for margins with a skewness of their own, and for the chains' covariance, which take dense
/// matrices.
inline constexpr Index kMostDenseParameters = 500;

/// Which coordinates are corrected, those that chains change by so much, and how.
struct Correction {
  double least_change;
  bool may_be_skewed;  ///< else they are shifted and stretched
};

/// With the chains' means and sds, less what is noise.
Gaussian corrected(const Gaussian& posterior, const ShortChains::Draws& draws, const Correction& how);
/// Mixtures have margins of their own.
bool can_be_skewed(const Gaussian& posterior);
/// The correction with the chains' covariance, for m up to kMostDenseParameters.
Gaussian with_covariance_of(const ShortChains::Draws& draws, const Gaussian& posterior);
/// A metric as wide as the chains' draws, if the one that they are in is not.
std::optional<Gaussian> other_metric(const Gaussian& metric, const ShortChains::Draws& draws);

}  // namespace magva
