#include "assess/heavy_tails.hpp"

#include <cmath>
#include <numbers>

#include "core/noise.hpp"

namespace magva {

namespace {

constexpr Index kHeavyTailDraws = 4000;
/// Fewer effective draws do not tell: an sd of heavy tails needs more of them than one of light tails.
constexpr double kFewestHeavyTailDraws = 400;

/// Half of the Gaussian's own, half of a multivariate Cauchy distribution with its mean and scale.
Matrix far_reaching_draws(const Gaussian& q, std::uint64_t seed) {
  Matrix theta = q.draws(kHeavyTailDraws, seed);
  Matrix divisor(1, kHeavyTailDraws / 2);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, divisor);
  auto cauchy = theta.rightCols(kHeavyTailDraws / 2);
  cauchy.colwise() -= q.mean();
  cauchy.array().rowwise() /= divisor.row(0).array().abs();
  cauchy.colwise() += q.mean();
  return theta;
}

/// Of that mixture, at points where the Gaussian's own log density is known.
Vector log_mixture(const Gaussian& q, const Vector& log_gaussian) {
  const auto m = static_cast<double>(q.dimension());
  const double log_scale = .5 * q.log_determinant();
  const double normal_constant = -.5 * m * std::log(2 * std::numbers::pi) - log_scale;
  const double cauchy_constant =
      std::lgamma(.5 * (1 + m)) - std::lgamma(.5) - .5 * m * std::log(std::numbers::pi) - log_scale;
  return log_gaussian.unaryExpr([&](double value) {
    const double square = std::max(0., 2 * (normal_constant - value));
    const double cauchy = cauchy_constant - .5 * (1 + m) * std::log1p(square);
    const double larger = std::max(value, cauchy);
    return larger + std::log(.5 * (std::exp(value - larger) + std::exp(cauchy - larger)));
  });
}

}  // namespace

std::optional<std::vector<MarginalError>> heavy_tailed_errors(Evaluator& evaluator, const Gaussian& q,
                                                              std::uint64_t seed) {
  const Matrix theta = far_reaching_draws(q, seed);
  const Vector log_density = evaluator.evaluate_values(theta);
  const Vector log_weights = log_density - log_mixture(q, q.log_density(theta));
  const double largest = log_weights.maxCoeff();
  if (!std::isfinite(largest)) return std::nullopt;
  const Vector raw = (log_weights.array() - largest).exp();
  const Vector weights = raw / raw.sum();
  const double effective = 1 / weights.squaredNorm();
  if (!(effective >= kFewestHeavyTailDraws)) return std::nullopt;
  const Vector sd = q.sd();
  std::vector<MarginalError> out;
  for (Index i = 0; i < q.dimension(); ++i) {
    const Vector z = (theta.row(i).transpose().array() - q.mean()(i)) / sd(i);
    const double shift = weights.dot(z);
    const double variance = weights.dot((z.array() - shift).square().matrix());
    out.push_back({i, shift, std::sqrt(variance), effective});
  }
  return out;
}

}  // namespace magva
