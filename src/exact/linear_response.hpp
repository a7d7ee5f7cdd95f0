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
#include <optional>

#include "magva/types.hpp"

namespace magva {

/// The terms f_i at a fitted Gaussian.
struct PredictorTerms {
  RowMatrix rows;      ///< x_i
  Vector by_mean;      ///< da_i / d(mean of x_i' theta)
  Vector by_variance;  ///< da_i / d(variance of x_i' theta)
};

/// Of the best full-rank Gaussian. Nothing where that takes too long, or is no covariance.
std::optional<Matrix> linear_response(const PredictorTerms& terms, const Matrix& covariance);

/// Of the best N(mean, W W' + diag(d)^2) with C = `curvature`.
std::optional<Matrix> linear_response(const PredictorTerms& terms, const Matrix& curvature,
                                      const Matrix& factors, const Vector& residual_sd);

}  // namespace magva
