#pragma once
// What importance weights make of a fit's summaries: a Gaussian on the unconstrained scale may miss a tail
// that the user's scale stretches, while k-hat and ELBO look well.
#include <optional>
#include <string>
#include <vector>

#include "magva/model.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// A quantity whose mean or sd the weights put elsewhere.
struct Reweighted {
  std::string name;
  double mean, sd;
  double weighted_mean, weighted_sd;
  double mean_se, log_sd_se;  ///< standard errors of the weighted mean and of the logarithm of that sd
  /// The larger of |log ratio of the sds| and the shift of the mean in sds, each less so many of its standard
  /// errors.
  double difference(double standard_errors = 0) const;
};

/// The quantity with the largest difference, less so many standard errors. `values`: one row per quantity,
/// one column per draw; `weights` sum to 1. Nothing where a weight or every value is not finite.
std::optional<Reweighted> most_reweighted(const std::vector<std::string>& names, const Matrix& values,
                                          ConstVectorRef weights, double standard_errors = 0);

/// Of the coordinates of theta.
struct WeightedMoments {
  Vector mean;
  Vector sd;  ///< NaN where the weights leave none
  Vector mean_se, log_sd_se;
};

/// By the draws of q from which its ELBO is estimated with this seed; `weights` sum to 1.
WeightedMoments weighted_moments(const Gaussian& q, std::uint64_t seed, ConstVectorRef weights,
                                 Workers& workers);

/// The same for the coordinates of theta, whose means and sds are those of `reported`: `weights` are those of
/// the draws of q by which its ELBO is estimated with this seed.
std::optional<Reweighted> most_reweighted(const Model& model, const Gaussian& q, const Gaussian& reported,
                                          std::uint64_t seed, ConstVectorRef weights, Workers& workers,
                                          double standard_errors = 0);

}  // namespace magva
