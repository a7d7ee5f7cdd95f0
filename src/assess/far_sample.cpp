#include "assess/far_sample.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "assess/pareto.hpp"
#include "core/noise.hpp"

namespace magva {

namespace {

/// Draws of each part of the proposal: so many, and if these do not show that all marginals are near, as many
/// as the second.
constexpr Index kFirstThird = 1000;
constexpr Index kThird = 2000;
constexpr double kWide = 2;
/// The largest m: of more dimensions such a proposal has too few draws where the posterior is.
constexpr Index kMostFarDimensions = 6;
/// Fewer effective draws say nothing.
constexpr double kFewestFarDraws = 150;

Matrix far_draws(const Gaussian& q, Index third, std::uint64_t seed) {
  Matrix deviation = q.draws(3 * third, seed).colwise() - q.mean();
  deviation.middleCols(third, third) *= kWide;
  Matrix divisor(1, third);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, divisor);
  deviation.rightCols(third).array().rowwise() /= divisor.row(0).array().abs();
  return deviation.colwise() + q.mean();
}

/// Of the proposal, at points where the Gaussian's own log density is known.
Vector log_proposal(const Gaussian& q, const Vector& log_gaussian) {
  const auto m = static_cast<double>(q.dimension());
  const double log_scale = .5 * q.log_determinant();
  const double normal_constant = -.5 * m * std::log(2 * std::numbers::pi) - log_scale;
  const double cauchy_constant =
      std::lgamma(.5 * (1 + m)) - std::lgamma(.5) - .5 * m * std::log(std::numbers::pi) - log_scale;
  return log_gaussian.unaryExpr([&](double own) {
    const double square = std::max(0., 2 * (normal_constant - own));
    const double wide = normal_constant - m * std::log(kWide) - .5 * square / (kWide * kWide);
    const double cauchy = cauchy_constant - .5 * (1 + m) * std::log1p(square);
    const double largest = std::max({own, wide, cauchy});
    return largest +
           std::log((std::exp(own - largest) + std::exp(wide - largest) + std::exp(cauchy - largest)) / 3);
  });
}

/// Beyond its own noise; none if no sample is behind it.
double certain_size(const MarginalError& error) {
  return error.effective_draws > 0 ? error.size() - 2 * error.se : 0;
}

std::optional<FarSample> sample_far_out(Evaluator& evaluator, const Gaussian& q, Index third,
                                        std::uint64_t seed) {
  Matrix theta = far_draws(q, third, seed);
  const Vector log_weights = evaluator.evaluate_values(theta) - log_proposal(q, q.log_density(theta));
  if (!log_weights.array().isFinite().any()) return std::nullopt;
  const SmoothedWeights weights = smooth_weights(log_weights);
  const Index draws = theta.cols();
  return FarSample{
      {std::move(theta), weights.log_weights.array().exp(), draws}, weights.khat, weights.effective};
}

/// Every marginal is the Gaussian's, whatever the sample's noise.
bool shows_all_near(const FarSample& far, const Gaussian& q) {
  const std::vector<MarginalError> errors = errors_by(far, q);
  return far.khat <= kDoubtfulKhat && far.effective >= kFewestFarDraws &&
         std::all_of(errors.begin(), errors.end(),
                     [](const MarginalError& error) { return error.size() + 2 * error.se < kDoubt; });
}

}  // namespace

std::optional<FarSample> far_reaching_sample(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed) {
  return sample_far_out(evaluator, q, kThird, seed);
}

std::vector<MarginalError> errors_by(const FarSample& far, const Gaussian& q) {
  const Vector sd = q.sd();
  const Matrix z = sd.cwiseInverse().asDiagonal() * (far.sample.theta.colwise() - q.mean());
  const SampleMoments found = moments_of(z, far.sample);
  std::vector<MarginalError> out;
  for (Index i = 0; i < q.dimension(); ++i)
    out.push_back({i, found.mean(i), found.sd(i), far.effective,
                   std::max(found.mean_se(i) / std::max(1., found.sd(i)), found.log_sd_se(i))});
  return out;
}

void check_far_out(Evaluator& evaluator, const Gaussian& q, std::uint64_t seed, MarginalReport& report) {
  if (q.dimension() > kMostFarDimensions) return;
  std::optional<FarSample> far;
  if (report.errors.empty()) far = sample_far_out(evaluator, q, kFirstThird, seed);
  if (!far || !shows_all_near(*far, q)) far = far_reaching_sample(evaluator, q, seed);
  if (!far || far->khat > kPoorKhat || far->effective < kFewestFarDraws) return;
  for (const MarginalError& error : errors_by(*far, q)) {
    const auto known = std::find_if(report.errors.begin(), report.errors.end(),
                                    [&](const MarginalError& e) { return e.coordinate == error.coordinate; });
    if (known == report.errors.end())
      report.errors.push_back(error);
    else if (known->effective_draws == 0 || certain_size(error) > certain_size(*known))
      *known = error;
  }
  std::stable_sort(report.errors.begin(), report.errors.end(),
                   [](const MarginalError& a, const MarginalError& b) { return a.size() > b.size(); });
  report.samples.assign(1, std::move(far->sample));
}

}  // namespace magva
