#pragma once
// Integrals of log(1 + exp(eta)) and its first two derivatives over eta ~ N(mean, variance).
#include "magva/types.hpp"

namespace magva::detail {

struct LogisticNormal {
  double value;      ///< E log(1 + exp(eta))
  double slope;      ///< E 1 / (1 + exp(-eta)), the derivative by the mean
  double curvature;  ///< of the slope by the mean: twice the derivative of the value by the variance
};

/// For `count` normals, a multiple of 8; absolute errors below 1e-10 for any mean and variance, value
/// relative to 1 + |mean| + sd.
void logistic_normal(const double* mean, const double* variance, Index count, double* value, double* slope,
                     double* curvature);

LogisticNormal logistic_normal(double mean, double variance);

}  // namespace magva::detail
