#include "results/reweighted.hpp"

#include <algorithm>
#include <cmath>

namespace magva::results {

double Reweighted::difference() const {
  return std::max(std::abs(std::log(weighted_sd / sd)),
                  std::abs(weighted_mean - mean) / std::max(sd, weighted_sd));
}

std::optional<Reweighted> most_reweighted(const std::vector<std::string>& names, const Matrix& values,
                                          ConstVectorRef weights) {
  std::optional<Reweighted> worst;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto value = values.row(static_cast<Index>(i)).transpose();
    if (!value.allFinite() || !weights.allFinite()) continue;
    Reweighted now{names[i], value.mean(), 0, weights.dot(value), 0};
    now.sd = std::sqrt((value.array() - now.mean).square().mean());
    now.weighted_sd = std::sqrt(weights.dot((value.array() - now.weighted_mean).square().matrix()));
    if (!(now.sd > 0) || !(now.weighted_sd > 0)) continue;
    if (!worst || now.difference() > worst->difference()) worst = std::move(now);
  }
  return worst;
}

}  // namespace magva::results
