#pragma once
// Newton steps with exact curvatures: to the mode, and to the best full-rank Gaussian.
//
// At that Gaussian E[gradient] = 0 and Sigma^-1 = E[-Hessian] (Opper and Archambeau 2009): as many unknowns
// as there are predictors, not m^2 / 2. A step goes part of the way to the mean and the precision that these
// equations ask for; where the ELBO does not rise the part is halved. Where normal priors meet fewer terms
// than parameters, steps are taken in the span of the terms (ReducedDensity): theta is its prior in every
// other direction.
#include <functional>
#include <optional>
#include <string>

#include "exact/elbo.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// Told after every pass; false ends the fit with the best so far.
using ExactObserver = std::function<bool(std::int64_t passes, double elbo)>;

/// Why an ascent without noise has ended.
struct ExactStop {
  bool converged = false;
  bool interrupted = false;
  bool at_edge = false;       ///< beyond it the ELBO is not finite
  double predicted_gain = 0;  ///< nats that the next step would gain, to second order
  double gradient_norm = 0;   ///< of the mean's gradient, in posterior sds
  int iterations = 0;
};

/// Nats that a step of a converged fit would still gain.
inline constexpr double kExactTolerance = 1e-4;

struct ModePoint {
  Vector mean;
  Matrix curvature;  ///< positive definite
  double log_density;
  bool converged;
};

ModePoint newton_mode(ExactElbo& elbo, ConstVectorRef start, const ExactObserver& go_on);

struct FullRankFit {
  Vector mean;
  Matrix root;       ///< Sigma = root root'
  Vector gradient;   ///< E[gradient] and E[-Hessian] there, which are 0 and Sigma^-1 up to what the next step
  Matrix curvature;  ///< would change
  double elbo;
  ExactStop stop;
};

FullRankFit fit_full_rank(ExactElbo& elbo, ConstVectorRef start, const ExactObserver& go_on);
/// From N(start, precision^-1).
FullRankFit fit_full_rank(ExactElbo& elbo, ConstVectorRef start, ConstMatrixRef precision,
                          const ExactObserver& go_on);

/// The form in the span of the terms, where it saves time; else nothing.
std::optional<ReducedDensity> worthwhile_reduction(const ExpectedLogDensity& expected);
/// The coordinates z of a point.
Vector reduce(const ReducedDensity& reduced, const Vector& theta);
/// The Gaussian of theta, from that of z. Nothing where it is so narrow beside the prior that its width would
/// be lost in rounding.
std::optional<Gaussian> expand(const ReducedDensity& reduced, const Vector& mean, const Matrix& covariance);
/// With a Cholesky factor of its covariance.
Gaussian in_dense_form(const Gaussian& q);

struct FullRankResult {
  Gaussian posterior;  ///< dense
  double elbo;
  ExactStop stop;
};

/// The best full-rank Gaussian by whichever of the two ways is faster.
FullRankResult best_full_rank_gaussian(ExactElbo& elbo, ConstVectorRef start, const ExactObserver& go_on);

/// Where an ascent has ended at an edge that the last coordinate may not pass: the best mean and covariance
/// of the others for its marginal distribution, independent of it, by a few whole Newton steps.
void settle_given_last(ExactElbo& elbo, FullRankResult& fit);

}  // namespace magva
