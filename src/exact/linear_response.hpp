#pragma once
// Covariances by linear response (Giordano, Broderick and Jordan 2018): under a tilt exp(t' theta) of the
// posterior the fitted mean moves by (covariance of theta) t. Its derivative is had from the ELBO's Hessian,
// without a second fit, and is right where the Gaussian's own sds are too small.
//
// For log h = sum_i f_i(x_i' theta) + a quadratic, let a_i = E f_i'', a function of the predictor's mean
// and variance, u = X dmu and v_i = d(x_i' Sigma x_i). The optimum moves so that
//   C dmu - X' diag(da/dmean) v / 2 = t,   C = E[-Hessian],
//   H dlambda = P' w / 2,   w = da/dmean u + da/dvariance v,   v = P dlambda,
// with lambda the covariance's coordinates, P the derivative of the predictors' variances by them, and H
// minus the Hessian of -tr(C Sigma) / 2 + log |Sigma| / 2.
//
// Where normal priors meet fewer terms than parameters, all of this is done in the span of the x_i: theta is
// its prior in every other direction (ReducedDensity).
//
// Any other log h with known expectations has products with that Hessian by differences, for a full-rank
// Gaussian of few parameters.
#include <optional>

#include "exact/newton.hpp"
#include "magva/expectations.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// What linear response makes of a fitted Gaussian.
struct LinearResponse {
  Gaussian corrected;
  double change;  ///< largest |log| of an sd's ratio to the best full-rank Gaussian's; NaN if that is all
};

/// The best full-rank Gaussian, which a low-rank fit of a concave log h reaches by Newton steps from its
/// mean, with the covariance by linear response; for low rank its own, if the response takes too long.
/// Nothing where both take too long, or there is no such covariance. `near` is E[-Hessian] near q, where it
/// is known: a low-rank fit begins with it.
std::optional<LinearResponse> linear_response(ExactElbo& elbo, const Gaussian& q,
                                              const std::optional<Matrix>& near, const ExactObserver& go_on);

/// Whether so many predictor terms of so many parameters do not take too long.
bool linear_response_affordable(Index terms, Index dimension);

/// Of the best full-rank Gaussian. Nothing where that takes too long, or is no covariance.
std::optional<Matrix> linear_response(const PredictorTerms& terms, const Matrix& covariance);

/// Of the best full-rank Gaussian N(mean, root root'), whatever log h is.
std::optional<Matrix> linear_response_by_differences(ExactElbo& elbo, const Vector& mean, const Matrix& root);

/// Of a symmetric matrix; nothing if it is not positive definite.
std::optional<Matrix> positive_inverse(const Matrix& symmetric);

}  // namespace magva
