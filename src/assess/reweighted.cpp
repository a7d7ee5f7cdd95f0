#include "assess/reweighted.hpp"

#include <algorithm>
#include <cmath>

#include "core/elbo.hpp"

namespace magva {

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

WeightedMoments weighted_moments(const Gaussian& q, std::uint64_t seed, ConstVectorRef weights,
                                 Workers& workers) {
  const Index block = elbo_block(q);
  Vector shift = Vector::Zero(q.dimension());
  Vector square = Vector::Zero(q.dimension());
  for (Index first = 0; first < weights.size(); first += block) {
    const Index count = std::min(block, weights.size() - first);
    const Matrix deviation = elbo_draws(q, seed, first, count, workers).colwise() - q.mean();
    shift += deviation * weights.segment(first, count);
    square += deviation.cwiseAbs2() * weights.segment(first, count);
  }
  return {q.mean() + shift, (square - shift.cwiseAbs2()).cwiseSqrt()};
}

std::optional<Reweighted> most_reweighted(const Model& model, const Gaussian& q, const Gaussian& reported,
                                          std::uint64_t seed, ConstVectorRef weights, Workers& workers) {
  if (!weights.allFinite()) return std::nullopt;
  const WeightedMoments moments = weighted_moments(q, seed, weights, workers);
  const Vector sd = reported.sd();
  std::optional<Reweighted> worst;
  for (Index i = 0; i < q.dimension(); ++i) {
    if (!(moments.sd(i) > 0)) continue;
    const Reweighted now{"", reported.mean()(i), sd(i), moments.mean(i), moments.sd(i)};
    if (worst && now.difference() <= worst->difference()) continue;
    worst = now;
    worst->name = model.parameter_name(i);
  }
  return worst;
}

}  // namespace magva
