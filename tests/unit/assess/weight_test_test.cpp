// When the assessment's own draws say enough about quantities.
#include "assess/weight_test.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/elbo.hpp"

namespace magva {
namespace {

/// Points at which a normal posterior with this sd is evaluated to look at the exponential of `power` theta,
/// beside those of the assessment, and what is in doubt.
struct Looked {
  std::int64_t points;
  std::size_t doubts;
};

Looked look_at_exponential(double posterior_sd, double power) {
  std::int64_t points = 0;
  const auto model = make_model(1, [&](ConstVectorRef theta, VectorRef gradient) {
    ++points;
    gradient = -theta / (posterior_sd * posterior_sd);
    return .5 * theta.dot(gradient);
  });
  Evaluator evaluator(model, 1);
  const Gaussian q = Gaussian::dense(Vector::Zero(1), Matrix::Identity(1, 1));
  const Quantities quantities{{"exponential"},
                              [&](ConstMatrixRef theta) -> Matrix { return (power * theta.array()).exp(); }};
  AssessmentOptions options;
  options.quantities = &quantities;
  const ElboEstimate estimate = estimate_elbo(evaluator, q, 1000, options.seed + 1);
  const SmoothedWeights weights = smooth_weights(estimate.log_weights);
  points = 0;
  Assessment out;
  out.ending.claims_optimum = true;
  assess_weighted_moments(evaluator, q, weights, options, out);
  return {points, out.doubts.size()};
}

TEST(WeightTest, TakesNoDrawsWhereTheAssessmentsTell) {
  const Looked found = look_at_exponential(1.01, .3);
  EXPECT_EQ(found.points, 0);
  EXPECT_EQ(found.doubts, 0U);
}

// The sd of exp(2 theta) comes from a few of a thousand draws.
TEST(WeightTest, TakesMoreDrawsForLongTails) { EXPECT_GE(look_at_exponential(1.05, 2).points, 4000); }

TEST(WeightTest, TakesMoreDrawsForWhatChanges) {
  const Looked found = look_at_exponential(1.3, .3);
  EXPECT_GE(found.points, 4000);
  EXPECT_EQ(found.doubts, 1U);
}

}  // namespace
}  // namespace magva
