#pragma once
// The half-Cauchy distribution in the logarithm of its variable.
#include <cmath>
#include <numbers>

namespace magva::detail {

inline const double kLogTwoOverPi = std::log(2.0 / std::numbers::pi);
inline const double kHalfLogTwoPi = 0.5 * std::log(2.0 * std::numbers::pi);

/// Log density of u = log(x / scale) for x ~ half-Cauchy(0, scale), and its derivative:
/// log(2 / pi) + u - log(1 + exp(2 u)).
struct LogHalfCauchy {
  double value;
  double derivative;
};

inline LogHalfCauchy log_half_cauchy(double u) {
  return {kLogTwoOverPi - std::abs(u) - std::log1p(std::exp(-2.0 * std::abs(u))), -std::tanh(u)};
}

}  // namespace magva::detail
