// Margins with given moments, and those that draws ask for.
#include "shape/skewed_margins.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/noise.hpp"
#include "unit/shape/shape_maps.hpp"

namespace magva {
namespace {

constexpr Index kMarginDraws = 6000;

/// Rows: a normal variate, the logarithm of a gamma variate with shape 2, the cube root of such a one with
/// shape 1/2, and a normal one with longer tails to both sides.
Matrix draws_of_margins() {
  Matrix z(7, kMarginDraws);
  Noise(3, NoiseStream::kRandomPoint).fill(0, 0, z);
  Matrix out(4, kMarginDraws);
  out.row(0) = z.row(0);
  out.row(1) =
      (.5 * (z.row(1).cwiseAbs2() + z.row(2).cwiseAbs2() + z.row(3).cwiseAbs2() + z.row(4).cwiseAbs2()))
          .array()
          .log();
  out.row(2) = z.row(5).cwiseAbs().array().pow(2. / 3);
  out.row(3) = z.row(6) + z.row(6).array().cube().matrix() / 10;
  return out;
}

Margins margins_of(const Matrix& draws) {
  const Vector mean = draws.rowwise().mean();
  const Vector sd = (draws.colwise() - mean).rowwise().norm() / std::sqrt(static_cast<double>(draws.cols()));
  return {mean, sd, bends_of(draws)};
}

TEST(SkewedMargins, HaveTheMomentsThatAreAskedFor) {
  const Gaussian copula = test::random_gaussian(5, 3);
  Vector mean(5), sd(5);
  mean << -1, 0, 2, 3, .5;
  sd << .1, 1, 2, .5, 3;
  Matrix bends(5, 2);
  bends << -1.5, 0, -.5, .2, 0, 0, .3, -.3, 1, .1;
  const auto q = with_margins(copula, {mean, sd, bends});
  EXPECT_STREQ(q->shape(), "skewed");
  const Matrix theta = q->draws(100'000, 1);
  for (Index i = 0; i < 5; ++i) {
    const Eigen::ArrayXd d = (theta.row(i).array() - mean(i)) / sd(i);
    // Five standard errors, sqrt(variance of the power / 100,000) with generous bounds of the kurtosis.
    EXPECT_NEAR(d.mean(), 0, .016) << i;
    EXPECT_NEAR(std::sqrt(d.square().mean()), 1, .03) << i;
  }
}

TEST(SkewedMargins, OfDrawsHaveTheirQuantiles) {
  const Matrix draws = draws_of_margins();
  const auto q = with_margins(test::random_gaussian(4, 7), margins_of(draws));
  Vector probabilities(5);
  probabilities << .025, .25, .5, .75, .975;
  const Matrix found = q->quantiles(probabilities);
  for (Index i = 0; i < 4; ++i) {
    Vector sorted = draws.row(i).transpose();
    std::sort(sorted.begin(), sorted.end());
    const double sd = std::sqrt((sorted.array() - sorted.mean()).square().mean());
    // Quantiles of 6,000 draws have errors up to .035 sds (2.5 %, one standard error) here, and the family
    // does not have these margins.
    for (Index k = 0; k < 5; ++k)
      EXPECT_NEAR(found(i, k), sorted(static_cast<Index>(probabilities(k) * (kMarginDraws - 1))), .1 * sd)
          << i << ' ' << k;
  }
}

TEST(SkewedMargins, OfALogarithmHaveTheMeanAndTheSdOfTheScaleItself) {
  const Matrix draws = draws_of_margins();
  const auto q = with_margins(test::random_gaussian(4, 7), margins_of(draws));
  const Eigen::ArrayXd scale = q->draws(50'000, 1).row(1).array().exp();
  // A gamma variate with shape 2. Six thousand draws know its mean to .018 and its sd to .03 (one standard
  // error); a log-normal one with the same logarithm would have 2.1 and 2.1.
  EXPECT_NEAR(scale.mean(), 2, .08);
  EXPECT_NEAR(std::sqrt((scale - scale.mean()).square().mean()), std::sqrt(2), .13);
}

// The logarithm of a gamma variate with shape 3 has a skewness of -.6, which 800 draws know to .1.
TEST(SkewedMargins, AreFoundInFewDraws) {
  constexpr Index kMargins = 60, kTwiceShape = 6;
  Matrix z(kTwiceShape * kMargins, 800);
  Noise(9, NoiseStream::kRandomPoint).fill(0, 0, z);
  Matrix draws(kMargins, z.cols());
  for (Index i = 0; i < kMargins; ++i)
    draws.row(i) =
        z.middleRows(kTwiceShape * i, kTwiceShape).cwiseAbs2().colwise().sum().array().log().matrix();
  EXPECT_GE((bends_of(draws).col(0).array() < 0).count(), kMargins - 1);
}

TEST(SkewedMargins, AreNormalWhereDrawsAre) {
  Matrix z(40, 2000);
  Noise(5, NoiseStream::kRandomPoint).fill(0, 0, z);
  // Three quarters of the draws would have to agree with the noise of the fourth.
  const Matrix bends = bends_of(z);
  EXPECT_LT((bends.rowwise().norm().array() > 0).count(), 16);
  EXPECT_LT(bends.cwiseAbs().maxCoeff(), .15);
}

TEST(SkewedMargins, WithoutBendsAreTheGaussians) {
  const Gaussian copula = test::random_gaussian(4, 5);
  const auto q = with_margins(copula, {copula.mean(), copula.sd(), Matrix::Zero(4, 2)});
  EXPECT_LT((q->draws(50, 2) - copula.draws(50, 2)).cwiseAbs().maxCoeff(), 1e-12);
}

}  // namespace
}  // namespace magva
