#include "assess/reweighted.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/elbo.hpp"

namespace magva {

namespace {

/// Sums over the draws of squared weights times powers of what differs from a centre.
struct PowerSums {
  explicit PowerSums(Index size) {
    for (Vector& sum : of) sum = Vector::Zero(size);
  }
  void add(const Matrix& deviation, const Vector& squared_weights) {
    Matrix power = Matrix::Ones(deviation.rows(), deviation.cols());
    for (Vector& sum : of) {
      sum += power * squared_weights;
      power = power.cwiseProduct(deviation);
    }
  }
  /// Of the square of what differs from another centre, and of its square.
  Vector second(const Vector& s) const {
    return of[2] - 2 * s.cwiseProduct(of[1]) + s.cwiseAbs2().cwiseProduct(of[0]);
  }
  Vector fourth(const Vector& s) const {
    const auto a = s.array();
    return of[4].array() - 4 * a * of[3].array() + 6 * a.square() * of[2].array() -
           4 * a.cube() * of[1].array() + a.square().square() * of[0].array();
  }

  std::array<Vector, 5> of;
};

}  // namespace

double Reweighted::difference(double standard_errors) const {
  const double larger = std::max(sd, weighted_sd);
  return std::max(std::abs(std::log(weighted_sd / sd)) - standard_errors * log_sd_se,
                  (std::abs(weighted_mean - mean) - standard_errors * mean_se) / larger);
}

std::optional<Reweighted> most_reweighted(const std::vector<std::string>& names, const Matrix& values,
                                          ConstVectorRef weights, double standard_errors) {
  std::optional<Reweighted> worst;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto value = values.row(static_cast<Index>(i)).transpose();
    if (!value.allFinite() || !weights.allFinite()) continue;
    Reweighted now{names[i], value.mean(), 0, weights.dot(value), 0, 0, 0};
    now.sd = std::sqrt((value.array() - now.mean).square().mean());
    const Vector square = (value.array() - now.weighted_mean).square();
    now.weighted_sd = std::sqrt(weights.dot(square));
    if (!(now.sd > 0) || !(now.weighted_sd > 0)) continue;
    const double variance = now.weighted_sd * now.weighted_sd;
    now.mean_se = std::sqrt(weights.cwiseAbs2().dot(square));
    now.log_sd_se =
        .5 * std::sqrt(weights.cwiseAbs2().dot((square.array() / variance - 1).square().matrix()));
    if (!worst || now.difference(standard_errors) > worst->difference(standard_errors))
      worst = std::move(now);
  }
  return worst;
}

WeightedMoments weighted_moments(const Gaussian& q, std::uint64_t seed, ConstVectorRef weights,
                                 Workers& workers) {
  const Index block = elbo_block(q);
  Vector shift = Vector::Zero(q.dimension());
  Vector square = Vector::Zero(q.dimension());
  PowerSums sums(q.dimension());
  for (Index first = 0; first < weights.size(); first += block) {
    const Index count = std::min(block, weights.size() - first);
    const Matrix deviation = elbo_draws(q, seed, first, count, workers).colwise() - q.mean();
    shift += deviation * weights.segment(first, count);
    square += deviation.cwiseAbs2() * weights.segment(first, count);
    sums.add(deviation, weights.segment(first, count).cwiseAbs2());
  }
  const Vector variance = square - shift.cwiseAbs2();
  const Vector second = sums.second(shift);
  const Vector spread = sums.fourth(shift).array() / variance.array().square() -
                        2 * second.array() / variance.array() + sums.of[0].array();
  return {q.mean() + shift, variance.cwiseSqrt(), second.cwiseMax(0).cwiseSqrt(),
          .5 * spread.cwiseMax(0).cwiseSqrt()};
}

std::optional<Reweighted> most_reweighted(const Model& model, const Gaussian& q, const Gaussian& reported,
                                          std::uint64_t seed, ConstVectorRef weights, Workers& workers,
                                          double standard_errors) {
  if (!weights.allFinite()) return std::nullopt;
  const WeightedMoments moments = weighted_moments(q, seed, weights, workers);
  const Vector sd = reported.sd();
  std::optional<Reweighted> worst;
  for (Index i = 0; i < q.dimension(); ++i) {
    if (!(moments.sd(i) > 0)) continue;
    const Reweighted now{"",
                         reported.mean()(i),
                         sd(i),
                         moments.mean(i),
                         moments.sd(i),
                         moments.mean_se(i),
                         moments.log_sd_se(i)};
    if (worst && now.difference(standard_errors) <= worst->difference(standard_errors)) continue;
    worst = now;
    worst->name = model.parameter_name(i);
  }
  return worst;
}

}  // namespace magva
