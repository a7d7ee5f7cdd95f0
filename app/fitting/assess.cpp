#include "fitting/assess.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "fitting/log_densities.hpp"

namespace magva::fitting {

namespace {
constexpr Index kDraws = 2000;
constexpr std::uint64_t kFreshSeed = 0x9e3779b97f4a7c15U;  // draws that no iteration has seen
}  // namespace

Assessment assess(const Model& model, const Gaussian& posterior, std::uint64_t seed, int threads) {
  const Matrix theta = posterior.draws(kDraws, seed ^ kFreshSeed);
  const Vector ratio = log_densities(model, theta, threads) - posterior.log_density(theta);
  std::vector<double> finite;
  for (const double value : ratio)
    if (std::isfinite(value)) finite.push_back(value);
  const auto accepted = static_cast<Index>(finite.size());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (accepted < 2) return {nan, nan, kDraws, kDraws - accepted};
  const Eigen::Map<const Vector> values(finite.data(), accepted);
  const double variance = (values.array() - values.mean()).square().sum() / static_cast<double>(accepted - 1);
  return {values.mean(), std::sqrt(variance / static_cast<double>(accepted)), kDraws, kDraws - accepted};
}

}  // namespace magva::fitting
