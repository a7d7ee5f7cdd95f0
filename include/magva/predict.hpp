#pragma once
// What a fitted regression says about new rows, given draws from its posterior (one column per draw).
#include <cstdint>

#include "magva/regression.hpp"

namespace magva {

/// Linear predictors x_i' beta_s: one row per row of the design, one column per draw.
Matrix linear_predictor(const Regression& model, const Design& design, ConstMatrixRef draws);

/// E[y | x_i, theta_s], which for a logistic regression is the probability of class 1.
Matrix expected_response(const Regression& model, const Design& design, ConstMatrixRef draws);

/// Mean of the posterior predictive distribution of each row: class probabilities for a logistic regression.
Vector predictive_mean(const Regression& model, const Design& design, ConstMatrixRef draws);

/// log p(y_i | data) = log of the mean over draws of p(y_i | x_i, theta_s): the log score of each row.
Vector log_predictive_density(const Regression& model, const Design& design, ConstVectorRef response,
                              ConstMatrixRef draws);

/// One draw of y for each row and posterior draw; its quantiles along a row are predictive intervals.
Matrix simulate_response(const Regression& model, const Design& design, ConstMatrixRef draws,
                         std::uint64_t seed);

}  // namespace magva
