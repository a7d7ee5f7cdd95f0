#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "assess/pareto.hpp"
#include "core/evaluator.hpp"
#include "core/noise.hpp"
#include "magva/error.hpp"

namespace magva {

namespace {

constexpr Index kPoolDraws = 10;  // in the pool, per draw returned

// Exponential of rate 1 from two normals: half the squared radius.
double exponential(const Matrix& normals, Index i) { return .5 * normals.col(i).squaredNorm(); }

}  // namespace

Matrix importance_resample(const Model& model, const Posterior& q, Index count, std::uint64_t seed,
                           int threads) {
  Evaluator evaluator(model, choose_threads(threads, model));
  const Index pool = kPoolDraws * count;
  const Matrix theta = q.draws(pool, seed);
  Vector log_density(pool);
  Matrix gradient(q.dimension(), pool);
  evaluator.evaluate(theta, log_density, gradient);
  const SmoothedWeights weights = smooth_weights(log_density - q.log_density(theta));
  if (!(weights.khat <= kDoubtfulKhat))
    throw DataError(
        fmt::format("cannot resample: k-hat is {:.2f}, above {}, so that the weights rest on a few draws; "
                    "use the draws of the "
                    "fit itself, or a richer model, rank or shape",
                    weights.khat, kDoubtfulKhat));
  const double largest = std::exp(weights.log_weights.maxCoeff());
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
    clock[static_cast<std::size_t>(i)] = std::log(exponential(normals, i)) - weights.log_weights(i);
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
