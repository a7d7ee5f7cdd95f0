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
// Any other log h with known expectations has products with that Hessian by differences, for a full-rank
// Gaussian of few parameters.
#include <optional>

#include "exact/elbo.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// N(mean, covariance by linear response) for a fitted Gaussian. Of a low-rank Gaussian that is too large,
/// and a concave log h, the mean's own part alone, C^-1. Nothing where that takes too long, or is no
/// covariance.
std::optional<Gaussian> linear_response(ExactElbo& elbo, const Gaussian& q);

/// Of the best full-rank Gaussian. Nothing where that takes too long, or is no covariance.
std::optional<Matrix> linear_response(const PredictorTerms& terms, const Matrix& covariance);

/// Of the best N(mean, W W' + diag(d)^2) with C = `curvature`.
std::optional<Matrix> linear_response(const PredictorTerms& terms, const Matrix& curvature,
                                      const Matrix& factors, const Vector& residual_sd);

/// Of the best full-rank Gaussian N(mean, root root'), whatever log h is.
std::optional<Matrix> linear_response_by_differences(ExactElbo& elbo, const Vector& mean, const Matrix& root);

}  // namespace magva
