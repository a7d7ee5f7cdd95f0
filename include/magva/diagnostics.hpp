#pragma once
// How good a Gaussian is, by draws that its fit has not seen: the ELBO with its standard error, Pareto k-hat,
// importance resampling, the posterior's tails.
#include <cstdint>
#include <string>

#include "magva/check_gradient.hpp"
#include "magva/model.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// The model's log density at each column of theta; not finite where it cannot be evaluated. As for a fit, 0
/// threads are as many as gain.
Vector log_densities(const Model& model, ConstMatrixRef theta, int threads = 0);

struct ElboEstimate {
  double elbo = 0;     ///< mean of the log weights of the draws that could be evaluated
  double se = 0;       ///< its standard error
  Vector log_weights;  ///< log h(theta) - log q(theta), -infinity for a draw that was rejected
  Index rejected = 0;
};

ElboEstimate estimate_elbo(const Model& model, const Gaussian& q, Index draws, std::uint64_t seed,
                           int threads = 0);

/// Pareto smoothed importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry 2024).
struct SmoothedWeights {
  Vector log_weights;  ///< normalised: their exponentials sum to 1
  double khat;         ///< +infinity where all weight is on draws that cannot be told apart from one
  double effective;    ///< 1 / sum of squared weights
};
/// log weights may be -infinity; at least one must not be.
SmoothedWeights smooth_weights(ConstVectorRef log_weights);

/// The k-hat alone.
double pareto_khat(ConstVectorRef log_weights);
/// What a k-hat means, in words.
std::string describe_khat(double khat);

/// `count` distinct draws out of a larger pool, with probabilities from Pareto smoothed weights: nearer to
/// the posterior than q's own. Throws DataError where k-hat is above .7, or where distinct draws cannot have
/// these weights.
Matrix importance_resample(const Model& model, const Posterior& q, Index count, std::uint64_t seed,
                           int threads = 0);

enum class TailKind {
  kLight,     ///< the log density falls at least linearly
  kHeavy,     ///< it falls like a logarithm: few or no moments exist
  kImproper,  ///< it does not fall: there is no posterior
};

struct TailReport {
  TailKind kind = TailKind::kLight;
  std::string where;  ///< the axis, in words; empty where all is well
};

/// Does the log density fall off as a proper posterior's must? Probes far out along the axes on which the
/// Gaussian is widest relative to what it knows: its factors, its principal axes, the coordinates.
TailReport probe_tails(const Model& model, const Gaussian& q, int threads = 0);

}  // namespace magva
