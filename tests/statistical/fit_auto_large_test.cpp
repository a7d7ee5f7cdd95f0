// The default where m is too large for a dense curvature.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/noise.hpp"
#include "fit/runs.hpp"
#include "magva/fit.hpp"
#include "search/curvature.hpp"

namespace magva {
namespace {

static_assert(kDenseDimension < 3000, "these tests are for sketched curvatures");

TEST(FitAutoLarge, FindsTheFactorsOfAGaussian) {
  constexpr Index kSize = 3000;
  constexpr Index kRank = 8;
  Matrix factors(kSize, kRank);
  Noise(3, NoiseStream::kFactors).fill(0, 0, factors);
  Vector sd(kSize);
  for (Index i = 0; i < kSize; ++i) sd(i) = std::pow(10., 3. * static_cast<double>(i) / kSize - 1.5);
  const Gaussian posterior = Gaussian::low_rank(sd, sd.asDiagonal() * factors, sd);
  const auto model = make_model(kSize, [&](ConstVectorRef theta, VectorRef gradient) {
    gradient = -posterior.solve(theta - posterior.mean());
    return posterior.log_density(theta)(0);
  });
  FitOptions options;
  options.diagnostic_draws = 100;
  options.starts = 1;
  const FitResult result = fit(model, options);
  EXPECT_EQ(result.stopped, StopReason::kConverged) << result.stop_detail;
  EXPECT_EQ(result.posterior.rank(), kRank);
  EXPECT_LT(kl_divergence(result.posterior, posterior), promised_nats(kSize));
}

/// A logistic regression with responses 1, 0, 1, 0, ...: row k adds up its own block of coefficients, and
/// with a weight `common` all of them; with a normal prior. E log h under a mean-field Gaussian is a sum of
/// integrals over each row's normal predictor.
class Blocks {
 public:
  static constexpr Index kBlocks = 50;
  static constexpr Index kWidth = 60;
  static constexpr Index kSize = kBlocks * kWidth;
  static constexpr double kPrior = 10;  // variance

  explicit Blocks(double common) : common_(common) {}

  auto model() const {
    return make_model(kSize, [common = common_](ConstVectorRef theta, VectorRef gradient) {
      double sum = -.5 * theta.squaredNorm() / kPrior;
      gradient = -theta / kPrior;
      const double shared = common * theta.sum();
      double slopes = 0;
      for (Index k = 0; k < kBlocks; ++k) {
        const double eta = sign(k) * (shared + theta.segment(k * kWidth, kWidth).sum());
        const double slope = sign(k) * logistic(-eta);
        sum -= softplus(-eta);
        slopes += slope;
        gradient.segment(k * kWidth, kWidth).array() += slope;
      }
      gradient.array() += common * slopes;
      return sum;
    });
  }

  double elbo(const Gaussian& q) const {
    const Vector variance = q.residual_sd().cwiseAbs2();
    double sum = -.5 * (q.mean().squaredNorm() + variance.sum()) / kPrior +
                 .5 * variance.array().log().sum() + .5 * kSize * (1 + std::log(2 * std::numbers::pi));
    for (Index k = 0; k < kBlocks; ++k)
      sum -= expectation(sign(k) * (common_ * q.mean().sum() + q.mean().segment(k * kWidth, kWidth).sum()),
                         std::sqrt(common_ * common_ * variance.sum() +
                                   (1 + 2 * common_) * variance.segment(k * kWidth, kWidth).sum()),
                         [](double eta) { return softplus(-eta); });
    return sum;
  }

  /// By symmetry all sds are the same, and all means but for their signs, so that these add up to zero: mean
  /// = v E[1 - p] and 1 / sd^2 = 1 / v + (1 + 2 c + B c^2) E[p (1 - p)] for B blocks and the common weight c.
  Gaussian best() const {
    const double square = 1 + 2 * common_ + kBlocks * common_ * common_;
    double size = 0;
    double variance = kPrior;
    for (int k = 0; k < 2000; ++k) {
      const double sd = std::sqrt(kWidth * square * variance);
      const double slope = expectation(kWidth * size, sd, [](double eta) { return logistic(-eta); });
      const double weight =
          expectation(kWidth * size, sd, [](double eta) { return logistic(eta) * logistic(-eta); });
      size += .02 * (kPrior * slope - size);
      variance += .5 * (1 / (1 / kPrior + square * weight) - variance);
    }
    Vector mean(kSize);
    for (Index k = 0; k < kBlocks; ++k) mean.segment(k * kWidth, kWidth).setConstant(sign(k) * size);
    return Gaussian::low_rank(mean, Matrix(kSize, 0), Vector::Constant(kSize, std::sqrt(variance)));
  }

 private:
  static double sign(Index block) { return block % 2 == 0 ? 1 : -1; }
  static double logistic(double x) { return 1 / (1 + std::exp(-x)); }
  static double softplus(double x) { return std::max(x, 0.) + std::log1p(std::exp(-std::abs(x))); }

  template <class F>
  static double expectation(double mean, double sd, F f) {
    constexpr int kHalf = 2000;
    double sum = 0;
    double weights = 0;
    for (int i = -kHalf; i <= kHalf; ++i) {
      const double z = 8. * i / kHalf;
      const double weight = std::exp(-.5 * z * z);
      sum += weight * f(mean + sd * z);
      weights += weight;
    }
    return sum / weights;
  }

  double common_;
};

FitResult mean_field(const Blocks& blocks, std::int64_t evaluations) {
  FitOptions options;
  options.rank = 0;
  options.starts = 1;
  options.diagnostic_draws = 100;
  options.max_evaluations = evaluations;
  return fit(blocks.model(), options);
}

void expect_as_promised(const Blocks& blocks, const Gaussian& found) {
  const double best = blocks.elbo(blocks.best());
  EXPECT_LT(blocks.elbo(found), best + 1e-3);
  EXPECT_GT(blocks.elbo(found), best - promised_nats(Blocks::kSize));
}

// Sigma times the curvature has fifty eigenvalues far above 1 and equal: steps that take them to be 1 feed on
// their own noise, and Lanczos iteration sees but one eigenvector.
TEST(FitAutoLarge, MeanFieldIsWithinThePromiseWhereRowsCorrelateManyCoefficients) {
  const Blocks blocks(0);
  const FitResult result = mean_field(blocks, 100'000);
  EXPECT_EQ(result.stopped, StopReason::kConverged) << result.stop_detail;
  expect_as_promised(blocks, result.posterior);
}

// All coefficients correlate, and Sigma times the curvature has one eigenvalue in the thousands: its
// direction's noise is in the gradient of every variance, hundreds of nats in a batch, unless it is kept out.
TEST(FitAutoLarge, OneStrongDirectionLeavesTheOtherVariancesInPeace) {
  const Blocks blocks(3);
  expect_as_promised(blocks, mean_field(blocks, 60'000).posterior);
}

}  // namespace
}  // namespace magva
