#include "assess/reweighted.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "assess/moment_changes.hpp"
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

TEST(MomentChanges, AreNoneWithEqualWeights) {
  const MomentChanges found = moment_changes(normals(3, 500), Vector::Constant(500, 1. / 500));
  EXPECT_LT((found.weighted_mean - found.mean).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_LT((found.weighted_sd - found.sd).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_LT(found.mean_se.maxCoeff(), 1e-14);
  EXPECT_LT(found.log_sd_se.maxCoeff(), 1e-14);
}

// Weights exp(s z - s^2/2) move N(0, 1) by s. Over 400 samples the changes have the sds that are stated, to
// 1 / sqrt(800) = .035 of them; four times that. The error of the mean's change is sqrt((exp(s^2) (1 + s^2) -
// 1) / n), a sixth of the weighted mean's own.
TEST(MomentChanges, HaveTheErrorsOfDifferences) {
  const Index samples = 400, draws = 300;
  const double s = .12;
  const Matrix all = normals(1, samples * draws);
  Vector mean(samples), log_sd(samples), mean_se(samples), log_sd_se(samples);
  for (Index k = 0; k < samples; ++k) {
    const Matrix z = all.middleCols(k * draws, draws);
    Vector weights = (s * z.row(0).transpose().array() - s * s / 2).exp();
    weights /= weights.sum();
    const MomentChanges found = moment_changes(z, weights);
    mean(k) = found.weighted_mean(0) - found.mean(0);
    log_sd(k) = std::log(found.weighted_sd(0) / found.sd(0));
    mean_se(k) = found.mean_se(0);
    log_sd_se(k) = found.log_sd_se(0);
  }
  const auto sd = [](const Vector& x) { return std::sqrt((x.array() - x.mean()).square().mean()); };
  const double wanted = std::sqrt((std::exp(s * s) * (1 + s * s) - 1) / static_cast<double>(draws));
  EXPECT_NEAR(mean.mean(), s, 4 * wanted / std::sqrt(static_cast<double>(samples)) + s / draws);
  EXPECT_NEAR(sd(mean) / wanted, 1, .14);
  EXPECT_NEAR(mean_se.mean() / sd(mean), 1, .14);
  EXPECT_NEAR(log_sd_se.mean() / sd(log_sd), 1, .14);
}

}  // namespace
}  // namespace magva
