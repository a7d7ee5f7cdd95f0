#include "core/elbo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/noise.hpp"

namespace magva {

namespace {

constexpr Index kLargestBlock = 256;
constexpr Index kBlockNumbers = 1 << 22;

void summarise(ElboEstimate& out) {
  double sum = 0;
  Index kept = 0;
  for (const double w : out.log_weights)
    if (std::isfinite(w)) {
      sum += w;
      ++kept;
    }
  out.rejected = out.log_weights.size() - kept;
  if (kept < 2) {
    out.elbo = -std::numeric_limits<double>::infinity();
    out.se = std::numeric_limits<double>::infinity();
    return;
  }
  out.elbo = sum / static_cast<double>(kept);
  double squares = 0;
  for (const double w : out.log_weights)
    if (std::isfinite(w)) squares += (w - out.elbo) * (w - out.elbo);
  out.se = std::sqrt(squares / static_cast<double>(kept - 1) / static_cast<double>(kept));
}

}  // namespace

Index elbo_block(const Gaussian& q) {
  return std::clamp<Index>(kBlockNumbers / (q.dimension() + q.rank()), 1, kLargestBlock);
}

Matrix elbo_draws(const Gaussian& q, std::uint64_t seed, Index first, Index count, Workers& workers) {
  const Index m = q.dimension();
  const Index p = q.rank();
  Matrix noise(q.noise_size(), count);
  Noise(seed, NoiseStream::kEvaluation)
      .fill(std::numeric_limits<std::uint32_t>::max(), static_cast<std::uint32_t>(first), noise, workers);
  if (q.is_spiked() || q.is_sparse()) return q.deviations(noise).colwise() + q.mean();
  Matrix theta = q.factors() * noise.topRows(p);
  if (!q.is_dense()) theta += q.residual_sd().asDiagonal() * noise.bottomRows(m);
  theta.colwise() += q.mean();
  return theta;
}

void extend_estimate(Evaluator& evaluator, const Gaussian& q, Index draws, std::uint64_t seed,
                     ElboEstimate& estimate) {
  const Index block = elbo_block(q);
  Index first = estimate.log_weights.size();
  estimate.log_weights.conservativeResize(std::max(first, draws));
  try {
    for (; first < draws; first += std::min(block, draws - first)) {
      const Index count = std::min(block, draws - first);
      const Matrix theta = elbo_draws(q, seed, first, count, evaluator.workers());
      estimate.log_weights.segment(first, count) = evaluator.evaluate_values(theta) - q.log_density(theta);
    }
  } catch (const Stopped&) {
    estimate.log_weights.conservativeResize(first);
  }
  summarise(estimate);
}

ElboEstimate estimate_elbo(Evaluator& evaluator, const Gaussian& q, Index draws, std::uint64_t seed) {
  ElboEstimate out;
  extend_estimate(evaluator, q, draws, seed, out);
  return out;
}

Vector log_densities(const Model& model, ConstMatrixRef theta, int threads) {
  return Evaluator(model, choose_threads(threads, model)).evaluate_values(theta);
}

ElboEstimate estimate_elbo(const Model& model, const Gaussian& q, Index draws, std::uint64_t seed,
                           int threads) {
  Evaluator evaluator(model, choose_threads(threads, model));
  return estimate_elbo(evaluator, q, draws, seed);
}

}  // namespace magva
