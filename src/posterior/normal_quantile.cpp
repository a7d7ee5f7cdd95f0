#include "posterior/normal_quantile.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace magva {

namespace {

/// Above a half, by Newton's method from the logistic distribution's.
double upper_normal_quantile(double probability) {
  if (probability == .95) return 1.6448536269514722;
  double z = std::log(probability / (1 - probability)) / 1.702;
  for (int i = 0; i < 100; ++i) {
    const double excess = .5 * std::erfc(-z / std::numbers::sqrt2) - probability;
    const double density = std::exp(-.5 * z * z) / std::sqrt(2 * std::numbers::pi);
    const double step = std::clamp(excess / density, -1.0, 1.0);
    z -= step;
    if (std::abs(step) < 1e-13) break;
  }
  return z;
}

}  // namespace

double normal_quantile(double probability) {
  if (probability == .5) return 0;
  return probability > .5 ? upper_normal_quantile(probability) : -upper_normal_quantile(1 - probability);
}

}  // namespace magva
