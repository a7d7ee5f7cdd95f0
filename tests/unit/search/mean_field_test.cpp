// The best mean-field Gaussian for fixed draws.
#include "search/mean_field.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "search/mode_search.hpp"
#include "support/hierarchical.hpp"

namespace magva {
namespace {

// Antithetic draws whose second moments are exact make both exact, but for where L-BFGS stops.
TEST(MeanField, OfAGaussianHasItsMeanAndConditionalSds) {
  const Vector mean = test::random_matrix(30, 1, 1);
  Vector sd(30);
  for (Index i = 0; i < 30; ++i) sd(i) = std::pow(10., -.1 * static_cast<double>(i));
  const Matrix covariance = sd.cwiseAbs2().asDiagonal();
  const auto model = test::gaussian_target(mean, covariance, 0);
  Evaluator evaluator(model, 1);
  const auto found = fit_mean_field(evaluator, Vector::Zero(30), 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT((found->mean - mean).cwiseQuotient(sd).cwiseAbs().maxCoeff(), .1);
  EXPECT_LT((found->sd.array() / sd.array()).log().cwiseAbs().maxCoeff(), .1);
}

// A search for the mode ends where the residual sd is zero, the mean-field Gaussian does not.
TEST(MeanField, IsNotDrawnIntoASpike) {
  const test::NoisyStates states = test::simulated_states(200, .8, 7);
  const double exact = test::exact_moments(states).mean(0);
  const auto model = states.model();
  Evaluator evaluator(model, 1);
  EXPECT_LT(search_mode(evaluator, Vector::Zero(201), 300).end.theta(0), -4);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto found = fit_mean_field(evaluator, Vector::Zero(201), seed);
    ASSERT_TRUE(found.has_value());
    EXPECT_NEAR(found->mean(0), exact, .5);
  }
}

TEST(MeanField, BeginsNarrowWhereTheSupportIs) {
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta / (1e-4);
    return theta.cwiseAbs().maxCoeff() < .1 ? -.5 * theta.squaredNorm() / 1e-4
                                            : -std::numeric_limits<double>::infinity();
  });
  Evaluator evaluator(model, 1);
  const auto found = fit_mean_field(evaluator, Vector::Zero(2), 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(found->mean.cwiseAbs().maxCoeff(), .01);
}

}  // namespace
}  // namespace magva
