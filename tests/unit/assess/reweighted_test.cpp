#include "assess/reweighted.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/elbo.hpp"
#include "core/noise.hpp"

namespace magva {
namespace {

Matrix normals(Index rows, Index draws) {
  Matrix out(rows, draws);
  Noise(5, NoiseStream::kPosteriorDraws).fill(0, 0, out);
  return out;
}

TEST(Reweighted, EqualWeightsChangeNothing) {
  const Matrix values = normals(2, 1000);
  const auto worst = most_reweighted({"a", "b"}, values, Vector::Constant(1000, 1e-3));
  ASSERT_TRUE(worst);
  EXPECT_NEAR(worst->difference(), 0, 1e-12);
}

// Weights exp(z s - s^2/2) turn N(0, 1) into N(s, 1): the second quantity moves by s sds and exp of it
// widens.
TEST(Reweighted, FindsTheQuantityThatMoves) {
  const Index draws = 20'000;
  const double s = .5;
  Matrix values = normals(2, draws);
  Vector weights = (s * values.row(1).transpose().array() - s * s / 2).exp();
  weights /= weights.sum();
  const auto worst = most_reweighted({"still", "moves"}, values, weights);
  ASSERT_TRUE(worst);
  EXPECT_EQ(worst->name, "moves");
  // The weighted mean has a standard error of sqrt(E[w^2 (z - s)^2] / n) = sqrt(exp(s^2)(1 + s^2) / n) =
  // .009.
  EXPECT_NEAR(worst->weighted_mean, s, 4 * .009);
  EXPECT_NEAR(worst->difference(), s, 4 * .012);
  EXPECT_NEAR(worst->mean_se, .0089, .0009);
  // E[w^2 ((z - s)^2 - 1)^2] = exp(s^2) (2 + 4 s^2 + s^4): that of the variance, and half of it is that of
  // the log sd.
  const double wanted = .5 * std::sqrt(std::exp(s * s) * (2 + 4 * s * s + std::pow(s, 4)) / draws);
  EXPECT_NEAR(worst->log_sd_se / wanted, 1, .15);
  EXPECT_NEAR(worst->difference(2), worst->difference() - 2 * worst->mean_se, .01);
}

// The moments of coordinates come block by block; their errors are those of the plain formula.
TEST(Reweighted, MomentsOfCoordinatesHaveTheirErrors) {
  const Gaussian q = Gaussian::dense(Vector{{1., -2.}}, Matrix{{1., 0.}, {.5, 2.}});
  const Index draws = 700;
  Workers workers(1);
  const Matrix theta = elbo_draws(q, 9, 0, draws, workers);
  Vector weights = (.3 * theta.row(0).transpose() - .2 * theta.row(1).transpose()).array().exp();
  weights /= weights.sum();
  const WeightedMoments found = weighted_moments(q, 9, weights, workers);
  for (Index i = 0; i < 2; ++i) {
    const Vector value = theta.row(i);
    const double mean = weights.dot(value);
    const Vector square = (value.array() - mean).square();
    const double variance = weights.dot(square);
    EXPECT_NEAR(found.mean(i), mean, 1e-10);
    EXPECT_NEAR(found.sd(i), std::sqrt(variance), 1e-10);
    EXPECT_NEAR(found.mean_se(i), std::sqrt(weights.cwiseAbs2().dot(square)), 1e-10);
    const Vector relative = (square.array() / variance - 1).square();
    EXPECT_NEAR(found.log_sd_se(i), .5 * std::sqrt(weights.cwiseAbs2().dot(relative)), 1e-10);
  }
}

TEST(Reweighted, ValuesThatAreNotFiniteAreLeftOut) {
  Matrix values = normals(2, 10);
  values(0, 3) = std::nan("");
  const auto worst = most_reweighted({"a", "b"}, values, Vector::Constant(10, .1));
  ASSERT_TRUE(worst);
  EXPECT_EQ(worst->name, "b");
}

}  // namespace
}  // namespace magva
