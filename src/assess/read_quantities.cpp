#include "assess/read_quantities.hpp"

#include <algorithm>
#include <cmath>

namespace magva {

namespace {

constexpr Index kScaleDraws = 400;

}  // namespace

ReadQuantities::ReadQuantities(const Quantities& quantities, const Gaussian& q, std::uint64_t seed)
    : quantities_(quantities) {
  const Matrix values = quantities.at(q.draws(kScaleDraws, seed));
  mean_ = values.rowwise().mean();
  sd_ = (values.colwise() - mean_).rowwise().norm() / std::sqrt(static_cast<double>(kScaleDraws));
}

double ReadQuantities::log_stretch(ConstVectorRef theta, double z) const {
  const Vector value = quantities_.at(theta).col(0);
  double largest = 1;
  for (Index k = 0; k < value.size(); ++k) {
    const double deviation = std::abs(value(k) - mean_(k)) / (sd_(k) * std::max(1., std::abs(z)));
    if (std::isfinite(deviation)) largest = std::max(largest, deviation);
  }
  return 2 * std::log(largest);
}

}  // namespace magva
