// Marginals looked at along lines of conditional means.
#include "assess/marginals.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace magva {
namespace {

TEST(LineDensity, HasTheMomentsAndQuantilesOfItsDensity) {
  // exp(-x) on a fine grid from 0: mean 1, sd 1, median log 2. The grid's own error is below 1e-4.
  const Vector points = Vector::LinSpaced(4001, 0, 40);
  const LineDensity density(points, -points);
  EXPECT_NEAR(density.mean(), 1, 1e-4);
  EXPECT_NEAR(density.sd(), 1, 1e-4);
  EXPECT_NEAR(density.quantile(.5), std::numbers::ln2, 1e-4);
  EXPECT_NEAR(density(2), std::exp(-2), 1e-4);
  EXPECT_EQ(density(-1), 0);
  EXPECT_EQ(density(41), 0);
}

// The posterior of log x, x ~ gamma(shape): its mean is digamma(shape), its variance trigamma(shape). The
// best Gaussian has mean log(shape) - 1 / (2 shape) and variance 1 / shape (set the ELBO's gradient to 0).
// A second coordinate hangs on the first with correlation, so that lines are not axes.
struct LogGamma {
  double shape;
  double slope;

  auto model() const {
    return make_model(2, [*this](ConstVectorRef theta, VectorRef gradient) {
      const double rest = theta(1) - slope * theta(0);
      gradient(0) = shape - std::exp(theta(0)) + slope * rest;
      gradient(1) = -rest;
      return shape * theta(0) - std::exp(theta(0)) - .5 * rest * rest;
    });
  }
  Gaussian best() const {
    const double sd = 1 / std::sqrt(shape);
    const double mean = std::log(shape) - .5 / shape;
    Matrix root(2, 2);
    root << sd, 0, slope * sd, 1;
    return Gaussian::dense(Vector{{mean, slope * mean}}, root);
  }
};

TEST(Marginals, FindTheErrorOfASkewedPosterior) {
  const LogGamma skewed{.6, 1.5};
  const auto model = skewed.model();
  Evaluator evaluator(model, 1);
  const auto found = check_marginals(evaluator, skewed.best(), 1).errors;
  ASSERT_EQ(found.size(), 2);
  // digamma(.6) = -1.540619, trigamma(.6) = 3.636210 (R: digamma(.6), trigamma(.6)).
  const double sd = 1 / std::sqrt(.6);
  const double shift = (-1.540619 - (std::log(.6) - .5 / .6)) / sd;
  const double ratio = std::sqrt(3.636210) / sd;
  const auto& worst = found.front();
  EXPECT_EQ(worst.coordinate, 0);
  // Standard errors with this many effective draws of a heavy-tailed variable, times four.
  const double se = 1 / std::sqrt(worst.effective_draws);
  EXPECT_GT(worst.effective_draws, 100);
  EXPECT_NEAR(worst.shift, shift, 4 * ratio * se);
  EXPECT_NEAR(std::log(worst.sd_ratio), std::log(ratio), 4 * se);
}

TEST(Marginals, FindNothingWhereThePosteriorIsTheGaussian) {
  const LogGamma near{400, 1.5};
  const auto model = near.model();
  Evaluator evaluator(model, 1);
  EXPECT_TRUE(check_marginals(evaluator, near.best(), 1).errors.empty());
}

TEST(Marginals, AreMeasuredByTheLargerOfShiftAndRatio) {
  EXPECT_DOUBLE_EQ((MarginalError{0, .2, 1, 0}).size(), .2);
  EXPECT_DOUBLE_EQ((MarginalError{0, .2, 2, 0}).size(), std::numbers::ln2);
  EXPECT_DOUBLE_EQ((MarginalError{0, -.4, .5, 0}).size(), std::numbers::ln2);
}

}  // namespace
}  // namespace magva
