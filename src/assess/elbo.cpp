#include "assess/elbo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/noise.hpp"

namespace magva {

namespace {
constexpr Index kLargestBlock = 256;
constexpr Index kBlockNumbers = 1 << 22;
}  // namespace

ElboEstimate estimate_elbo(Evaluator& evaluator, const Gaussian& q, Index draws, std::uint64_t seed) {
  const Index m = q.dimension();
  const Index p = q.rank();
  ElboEstimate out;
  out.log_weights.resize(draws);
  const Noise source(seed, NoiseStream::kEvaluation);
  const Index block = std::clamp<Index>(kBlockNumbers / (m + p), 1, kLargestBlock);
  for (Index first = 0; first < draws; first += block) {
    const Index count = std::min(block, draws - first);
    Matrix noise(q.is_dense() ? m : m + p, count);
    source.fill(std::numeric_limits<std::uint32_t>::max(), static_cast<std::uint32_t>(first), noise,
                evaluator.workers());
    Matrix theta = q.factors() * noise.topRows(p);
    if (!q.is_dense()) theta += q.residual_sd().asDiagonal() * noise.bottomRows(m);
    theta.colwise() += q.mean();
    Vector log_density(count);
    Matrix gradient(m, count);
    evaluator.evaluate(theta, log_density, gradient);
    out.log_weights.segment(first, count) = log_density - q.log_density(theta);
  }
  double sum = 0;
  Index kept = 0;
  for (const double w : out.log_weights)
    if (std::isfinite(w)) {
      sum += w;
      ++kept;
    }
  out.rejected = draws - kept;
  if (kept < 2) {
    out.elbo = -std::numeric_limits<double>::infinity();
    out.se = std::numeric_limits<double>::infinity();
    return out;
  }
  out.elbo = sum / static_cast<double>(kept);
  double squares = 0;
  for (const double w : out.log_weights)
    if (std::isfinite(w)) squares += (w - out.elbo) * (w - out.elbo);
  out.se = std::sqrt(squares / static_cast<double>(kept - 1) / static_cast<double>(kept));
  return out;
}

}  // namespace magva
