#pragma once
// Sds by linear response of all parameters, where these are too many for a matrix: estimates from random
// draws, each with its standard error.
//
// Let Sigma be the covariance of a fitted Gaussian, C = E[-Hessian] under it, and y ~ N(0, Sigma). Then
// x = (Sigma C)^(-1/2) y is N(0, C^-1), the posterior's deviation by linear response with Sigma held fixed.
// Lanczos iteration in the inner product of Sigma^-1 finds it in a few products with C, the fewer the closer
// C is to Sigma^-1. As x_i and y_i are normal together and the variance of y_i is known, x_i is regressed on
// y_i:
//   Var x_i = slope^2 Var y_i + residual variance.
// So after N draws the standard error of log sd is sqrt((1 - r^4) / (2 N)), r the correlation of x_i and y_i:
// at most 1 / sqrt(2 N), whatever the model and its size.
#include <cstdint>
#include <functional>
#include <optional>

#include "exact/elbo.hpp"
#include "magva/sd_for.hpp"

namespace magva {

/// C times the columns of a matrix, whose lengths are 1 in the inner product of Sigma^-1.
using CurvatureTimes = std::function<Matrix(const Matrix&)>;

/// The same by exact expectations, in one pass over the data.
Matrix curvature_times(ExactElbo& elbo, const Gaussian& q, const Matrix& v);

/// (Sigma C)^(-1/2) times the columns of y. Nothing where C is not positive definite, or this takes more than
/// so many products.
std::optional<Matrix> inverse_root_times(const Gaussian& q, const CurvatureTimes& curvature, const Matrix& y,
                                         std::int64_t most_products);

/// Columns that are multiplied together.
Index draws_at_once(Index dimension);

/// Of every sd that is used.
inline constexpr double kMostSdError = .05;

/// From 64 draws, and as many more as it takes until every standard error is below kMostSdError, with at most
/// so many products. Nothing where these do not suffice, or where C is not positive definite. The same for
/// the same seed.
std::optional<SdEstimates> estimate_sds(const Gaussian& q, const CurvatureTimes& curvature,
                                        std::int64_t most_products, std::uint64_t seed);

/// With C from draws: as the mean of two estimates that know nothing of each other. How far apart the sds of
/// these two are is a part of the standard errors. The inverse of an estimate is too large by a term that
/// halves where the draws are doubled, so what the two have more than their mean, for the first 64 draws, is
/// taken off that.
std::optional<SdEstimates> estimate_sds(const Gaussian& q, const CurvatureTimes& one,
                                        const CurvatureTimes& other, std::int64_t most_products,
                                        std::uint64_t seed);

}  // namespace magva
