// The default where m is too large for a dense curvature.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "magva/auto/constants.hpp"
#include "magva/auto/fit_auto.hpp"
#include "magva/noise.hpp"

namespace magva {
namespace {

static_assert(constants::kDenseDimension < 3000, "these tests are for sketched curvatures");

double promise(Index m) { return constants::kToleranceShare * static_cast<double>(m); }

TEST(FitAutoLarge, FindsTheFactorsOfAGaussian) {
  constexpr Index kSize = 3000;
  constexpr Index kRank = 8;
  Matrix factors(kSize, kRank);
  Noise(3, NoiseStream::kFactors).fill(0, 0, factors);
  Vector sd(kSize);
  for (Index i = 0; i < kSize; ++i) sd(i) = std::pow(10., 3. * static_cast<double>(i) / kSize - 1.5);
  const Gaussian posterior = Gaussian::low_rank(sd, sd.asDiagonal() * factors, sd);
  const auto model = lift(kSize, [&](ConstVectorRef theta, VectorRef gradient) {
    gradient = -posterior.solve(theta - posterior.mean());
    return posterior.log_density(theta)(0);
  });
  AutoOptions options;
  options.elbo_draws = 100;
  options.starts = 1;
  const AutoResult result = fit_auto(model, options);
  EXPECT_EQ(result.stopped, StopReason::kConverged) << result.evidence;
  EXPECT_EQ(result.posterior.rank(), kRank);
  EXPECT_LT(kl_divergence(result.posterior, posterior), promise(kSize));
}

/// Blocks of coefficients that one row of a logistic regression with response 1 adds up, with a normal prior:
/// E log h under a mean-field Gaussian is a sum of integrals over each row's normal predictor.
class Blocks {
 public:
  static constexpr Index kBlocks = 50;
  static constexpr Index kWidth = 60;
  static constexpr Index kSize = kBlocks * kWidth;
  static constexpr double kPrior = 10;  // variance

  static auto model() {
    return lift(kSize, [](ConstVectorRef theta, VectorRef gradient) {
      double sum = -.5 * theta.squaredNorm() / kPrior;
      gradient = -theta / kPrior;
      for (Index k = 0; k < kBlocks; ++k) {
        const double eta = theta.segment(k * kWidth, kWidth).sum();
        sum -= softplus(-eta);
        gradient.segment(k * kWidth, kWidth).array() += logistic(-eta);
      }
      return sum;
    });
  }

  static double elbo(const Gaussian& q) {
    const Vector variance = q.residual_sd().cwiseAbs2();
    double sum = -.5 * (q.mean().squaredNorm() + variance.sum()) / kPrior +
                 .5 * variance.array().log().sum() + .5 * kSize * (1 + std::log(2 * std::numbers::pi));
    for (Index k = 0; k < kBlocks; ++k)
      sum -= expectation(q.mean().segment(k * kWidth, kWidth).sum(),
                         std::sqrt(variance.segment(k * kWidth, kWidth).sum()),
                         [](double eta) { return softplus(-eta); });
    return sum;
  }

  /// By symmetry all means and all sds are the same: mean = v E[1 - p], 1 / sd^2 = 1 / v + E[p (1 - p)].
  static Gaussian best() {
    double mean = 0;
    double variance = kPrior;
    for (int k = 0; k < 2000; ++k) {
      const double sd = std::sqrt(kWidth * variance);
      const double slope = expectation(kWidth * mean, sd, [](double eta) { return logistic(-eta); });
      const double weight =
          expectation(kWidth * mean, sd, [](double eta) { return logistic(eta) * logistic(-eta); });
      mean += .02 * (kPrior * slope - mean);
      variance += .5 * (1 / (1 / kPrior + weight) - variance);
    }
    return Gaussian::low_rank(Vector::Constant(kSize, mean), Matrix(kSize, 0),
                              Vector::Constant(kSize, std::sqrt(variance)));
  }

 private:
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
};

// Sigma times the curvature has fifty eigenvalues far above 1 and equal: steps that take them to be 1 feed on
// their own noise, and Lanczos iteration sees but one eigenvector.
TEST(FitAutoLarge, MeanFieldIsWithinThePromiseWhereRowsCorrelateManyCoefficients) {
  AutoOptions options;
  options.rank = 0;
  options.starts = 1;
  options.elbo_draws = 100;
  options.max_evaluations = 100'000;
  const AutoResult result = fit_auto(Blocks::model(), options);
  EXPECT_EQ(result.stopped, StopReason::kConverged) << result.evidence;
  const double best = Blocks::elbo(Blocks::best());
  const double found = Blocks::elbo(result.posterior);
  EXPECT_LT(found, best + 1e-3);
  EXPECT_GT(found, best - promise(Blocks::kSize));
}

}  // namespace
}  // namespace magva
