// A family of low rank has several local maxima: what was learned of the curvature shows the way to others.
#include <gtest/gtest.h>
#include <Eigen/LU>

#include "core/noise.hpp"
#include "refine/expected_curvature.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {
namespace {

constexpr double kGain = .02;

/// Two pairs with correlations .95 and .9: one factor explains either, which are two local maxima.
struct OtherFactors : ::testing::Test {
  Workers workers;
  Matrix precision = precision_of_two_pairs();
  QuadraticFitter fitter{precision};

  static Matrix precision_of_two_pairs() {
    Matrix covariance = Matrix::Identity(4, 4);
    covariance(0, 1) = covariance(1, 0) = .95;
    covariance(2, 3) = covariance(3, 2) = .9;
    return covariance.inverse();
  }

  /// The end of an ascent that begins with one factor along two coordinates.
  LowRankCovariance maximum_along(Index a, Index b) {
    Matrix factor = Matrix::Zero(4, 1);
    factor(a, 0) = factor(b, 0) = .7;
    const QuadraticFit fit = fitter.maximize_from(factor, fitter.conditional_sd(), 1e-10);
    return {fit.factors, fit.residual_sd, workers};
  }

  std::optional<CovarianceTangent> from(const LowRankCovariance& sigma) const {
    PairBatch batch;
    batch.noise.resize(5, 8);
    Noise(1, NoiseStream::kFit).fill(0, 0, batch.noise);
    sigma.draw(batch);
    batch.half_difference = -precision * batch.deviation;
    batch.pair_mean = Matrix::Zero(4, 8);
    const auto curvature = make_dense_curvature(precision);
    curvature->prepare(batch, sigma);
    return curvature->alternative(sigma, kGain, nullptr);
  }
};

TEST_F(OtherFactors, LeadToTheHigherOfTwoMaxima) {
  const auto other = from(maximum_along(2, 3));
  ASSERT_TRUE(other.has_value());
  EXPECT_NEAR(fitter.value(other->factors, other->scales.array().exp()), fitter.best(1).value, 1e-3);
}

TEST_F(OtherFactors, AreNoneAtTheHighestMaximum) { EXPECT_FALSE(from(maximum_along(0, 1)).has_value()); }

// Without a trace of a factor there is no gradient towards one: natural gradients would stay.
TEST_F(OtherFactors, LeadAwayFromASaddlePoint) {
  EXPECT_TRUE(from({Matrix::Constant(4, 1, 1e-8), fitter.conditional_sd(), workers}).has_value());
}

}  // namespace
}  // namespace magva
