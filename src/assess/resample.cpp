#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "assess/pareto.hpp"
#include "core/evaluator.hpp"
#include "core/noise.hpp"
#include "magva/correct.hpp"
#include "magva/error.hpp"

namespace magva {

namespace {

constexpr Index kPoolDraws = 10;  // in the pool, per draw returned
/// Log weights with a smaller sd are nearly equal: their k-hat says nothing.
constexpr double kNearlyEqual = .5;

// Exponential of rate 1 from two normals: half the squared radius.
double exponential(const Matrix& normals, Index i) { return .5 * normals.col(i).squaredNorm(); }

double uniform(std::uint64_t seed) {
  Matrix normal(1, 1);
  Noise(seed, NoiseStream::kRandomPoint).fill(1, 0, normal);
  return .5 * std::erfc(-normal(0, 0) / std::numbers::sqrt2);
}

struct WeightedPool {
  Matrix theta;
  Vector log_weights;  // their exponentials sum to 1
};

bool nearly_equal(const Vector& log_weights) {
  const auto n = static_cast<double>(log_weights.size());
  return (log_weights.array() - log_weights.mean()).square().sum() < n * kNearlyEqual * kNearlyEqual;
}

/// Of so many draws, and ten times as many in it; throws where the weights are of no use.
WeightedPool weighted_pool(const Model& model, const Posterior& q, Index count, std::uint64_t seed,
                           int threads) {
  Evaluator evaluator(model, choose_threads(threads, model));
  const Index pool = kPoolDraws * count;
  Matrix theta = q.draws(pool, seed);
  const Vector log_density = evaluator.evaluate_values(theta);
  const Vector log_weights = log_density - q.log_density(theta);
  if (!log_weights.array().isFinite().any())
    throw DataError("the draws cannot be corrected: the log density is finite at none of them");
  SmoothedWeights weights = smooth_weights(log_weights);
  if (!(weights.khat <= kDoubtfulKhat) && !nearly_equal(log_weights))
    throw DataError(fmt::format(
        "the draws cannot be corrected: k-hat is {:.2f}, above {}, so that the importance "
        "weights rest on a few draws; another shape or a higher rank of the approximation may be nearer to "
        "the posterior, or sample this model by MCMC",
        weights.khat, kDoubtfulKhat));
  return {std::move(theta), std::move(weights.log_weights)};
}

}  // namespace

Matrix importance_corrected_draws(const Model& model, const Posterior& q, Index count, std::uint64_t seed,
                                  int threads) {
  const WeightedPool pool = weighted_pool(model, q, count, seed, threads);
  Matrix out(q.dimension(), count);
  const double step = 1 / static_cast<double>(count);
  double next = step * uniform(seed);
  double below = 0;
  Index taken = 0;
  Index i = 0;
  for (; i < pool.theta.cols() && taken < count; ++i) {
    below += std::exp(pool.log_weights(i));
    for (; next < below && taken < count; next += step) out.col(taken++) = pool.theta.col(i);
  }
  for (; taken < count; ++taken) out.col(taken) = pool.theta.col(i - 1);  // the sum is below 1 by rounding
  return out;
}

Matrix importance_resample(const Model& model, const Posterior& q, Index count, std::uint64_t seed,
                           int threads) {
  const auto [theta, log_weights] = weighted_pool(model, q, count, seed, threads);
  const Index pool = theta.cols();
  const double largest = std::exp(log_weights.maxCoeff());
  if (largest * static_cast<double>(count) > 1)
    throw DataError(
        fmt::format("cannot resample {} distinct draws: one of {} has {:.2g} of all weight, and would have "
                    "to come more than once; "
                    "ask for at most {}",
                    count, pool, largest, static_cast<Index>(1 / largest)));
  // The smallest exponential clocks, each running at its draw's weight (Efraimidis and Spirakis 2006).
  Matrix normals(2, pool);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, normals);
  std::vector<double> clock(static_cast<std::size_t>(pool));
  for (Index i = 0; i < pool; ++i)
    clock[static_cast<std::size_t>(i)] = std::log(exponential(normals, i)) - log_weights(i);
  std::vector<Index> order(static_cast<std::size_t>(pool));
  std::iota(order.begin(), order.end(), Index{0});
  std::nth_element(order.begin(), order.begin() + count, order.end(), [&](Index a, Index b) {
    return clock[static_cast<std::size_t>(a)] < clock[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  return theta(Eigen::all, order);
}

}  // namespace magva
