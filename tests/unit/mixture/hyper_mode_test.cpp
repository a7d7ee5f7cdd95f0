// The mode of the hyper-parameters' marginal density, against one that is known.
#include "mixture/hyper_mode.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mixture/fit_mixture.hpp"
#include "support/hierarchical.hpp"

namespace magva {
namespace {

/// By halving an interval in which the derivative changes its sign.
double marginal_mode(const test::Groups& groups) {
  double low = -6, high = 3;
  while (high - low > 1e-6) {
    const double t = .5 * (low + high);
    (test::log_marginal(groups, t + 1e-4) > test::log_marginal(groups, t - 1e-4) ? low : high) = t;
  }
  return low;
}

// The expected gradient comes from 32 pairs of draws of 60 effects: its error moves the mode by
// 1 / sqrt(32) = .18 sds, whatever their number; three times that.
TEST(HyperMode, IsThatOfTheMarginalDensity) {
  for (const double sd : {.3, .7}) {
    const test::Groups groups = test::simulated_groups(60, sd, .3, 11);
    const double exact = marginal_mode(groups);
    const double h = 1e-3;
    const double bend = 2 * test::log_marginal(groups, exact) - test::log_marginal(groups, exact + h) -
                        test::log_marginal(groups, exact - h);
    const double marginal_sd = h / std::sqrt(bend);
    const auto model = groups.model();
    Evaluator evaluator(model, 1);
    for (const double from : {-2., 1.}) {
      Vector mean = Vector::Zero(62);
      mean(1) = from;
      const auto found =
          gaussian_at_hyper_mode(evaluator, Gaussian::low_rank(mean, Matrix(62, 0), Vector::Constant(62, .3)),
                                 full_pattern(62), {1}, 1);
      ASSERT_TRUE(found.has_value());
      EXPECT_NEAR(found->mean()(1), exact, .54 * marginal_sd) << sd << " from " << from;
      EXPECT_GT(found->sd()(1), .5 * marginal_sd);
      EXPECT_LT(found->sd()(1), 2 * marginal_sd);
    }
  }
}

// Where the joint density has no bound, the marginal one has a maximum.
TEST(HyperMode, IsNotASpikeOfTheJointDensity) {
  const test::NoisyStates states = test::simulated_states(150, .8, 7);
  const test::Moments exact = test::exact_moments(states);
  const auto model = states.model();
  Evaluator evaluator(model, 1);
  Vector mean = Vector::Zero(151);
  mean(0) = -2;
  const auto found =
      gaussian_at_hyper_mode(evaluator, Gaussian::low_rank(mean, Matrix(151, 0), Vector::Constant(151, .1)),
                             full_pattern(151), {0}, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->mean()(0), exact.mean(0), exact.sd(0));
}

}  // namespace
}  // namespace magva
