// Margins with given moments.
#include "shape/skewed_margins.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "unit/shape/shape_maps.hpp"

namespace magva {
namespace {

TEST(SkewedMargins, HaveTheMomentsThatAreAskedFor) {
  const Gaussian copula = test::random_gaussian(5, 3);
  Vector mean(5), sd(5), skewness(5);
  mean << -1, 0, 2, 3, .5;
  sd << .1, 1, 2, .5, 3;
  skewness << -2, -.6, 0, .3, 1.3;
  const auto q = with_margins(copula, {mean, sd, skewness});
  EXPECT_STREQ(q->shape(), "skewed");
  const Index count = 100'000;
  const Matrix theta = q->draws(count, 1);
  for (Index i = 0; i < 5; ++i) {
    const Eigen::ArrayXd d = (theta.row(i).array() - mean(i)) / sd(i);
    // Five standard errors, sqrt(variance of the power / 100,000) with generous bounds of the kurtosis.
    EXPECT_NEAR(d.mean(), 0, .016) << i;
    EXPECT_NEAR(std::sqrt(d.square().mean()), 1, .03) << i;
    EXPECT_NEAR(d.cube().mean(), skewness(i), i == 0 ? .5 : .15) << i;
  }
}

TEST(SkewedMargins, WithoutSkewnessAreTheGaussians) {
  const Gaussian copula = test::random_gaussian(4, 5);
  const auto q = with_margins(copula, {copula.mean(), copula.sd(), Vector::Zero(4)});
  EXPECT_LT((q->draws(50, 2) - copula.draws(50, 2)).cwiseAbs().maxCoeff(), 1e-12);
}

}  // namespace
}  // namespace magva
