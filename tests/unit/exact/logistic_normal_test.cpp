// The contract of the one-dimensional integrals, against a trapezoidal rule in long double with a hundred
// times as many nodes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/logistic_normal.hpp"

namespace magva::detail {
namespace {

LogisticNormal reference(double mean, double sd) {
  const long double spacing = std::min(.02L, .02L / static_cast<long double>(std::max(sd, 1e-3)));
  long double total = 0, value = 0, slope = 0, curvature = 0;
  for (long double z = -9; z <= 9; z += spacing) {
    const long double weight = std::exp(-z * z / 2);
    const long double x = mean + sd * z;
    const long double e = std::exp(-std::abs(x));
    total += weight;
    value += weight * (std::max(x, 0.0L) + std::log1p(e));
    slope += weight * (x > 0 ? 1 / (1 + e) : e / (1 + e));
    curvature += weight * e / ((1 + e) * (1 + e));
  }
  return {static_cast<double>(value / total), static_cast<double>(slope / total),
          static_cast<double>(curvature / total)};
}

TEST(LogisticNormal, IsWithinItsContractForAllMeansAndSds) {
  for (const double sd : {0., 1e-3, .05, .0700001, .3,    .3000001, .5, .7,  .71, 1.,  1.5,
                          2., 3.,   4.,  6.,       7.999, 8.,       9., 12., 30., 100.})
    for (const double mean : {0., .1, -.5, 1., 3., -6., 12., -25., 60., -150., 700., -800.}) {
      const LogisticNormal expected = reference(mean, sd);
      const LogisticNormal found = logistic_normal(mean, sd * sd);
      EXPECT_NEAR(found.value, expected.value, 1e-10 * (1 + std::abs(mean) + sd)) << mean << " " << sd;
      EXPECT_NEAR(found.slope, expected.slope, 1e-10) << mean << " " << sd;
      EXPECT_NEAR(found.curvature, expected.curvature, 1e-10) << mean << " " << sd;
    }
}

// Where the sd is so large that only max(x, 0) is left.
TEST(LogisticNormal, HasTheRightLimit) {
  const LogisticNormal found = logistic_normal(2e5, 1e12);
  const double u = .2;
  const double density = std::exp(-.5 * u * u) / std::sqrt(2 * M_PI);
  const double below = .5 * std::erfc(-u / std::sqrt(2.));
  EXPECT_NEAR(found.value / (2e5 * below + 1e6 * density), 1, 1e-10);
  EXPECT_NEAR(found.slope, below, 1e-10);
  EXPECT_NEAR(found.curvature * 1e6, density, 1e-10);
}

TEST(LogisticNormal, GivesEachOfManyWhatItGivesOne) {
  double mean[16], variance[16], value[16], slope[16], curvature[16];
  for (int i = 0; i < 16; ++i) {
    mean[i] = .7 * (i - 8);
    variance[i] = std::pow(10., .4 * (i - 8));
  }
  logistic_normal(mean, variance, 16, value, slope, curvature);
  for (int i = 0; i < 16; ++i) {
    const LogisticNormal one = logistic_normal(mean[i], variance[i]);
    EXPECT_NEAR(value[i], one.value, 1e-9 * (1 + std::abs(mean[i]) + std::sqrt(variance[i])));
    EXPECT_NEAR(slope[i], one.slope, 1e-10);
    EXPECT_NEAR(curvature[i], one.curvature, 1e-10);
  }
}

}  // namespace
}  // namespace magva::detail
