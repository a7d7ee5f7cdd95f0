// Quantities whose variance lies where the coordinates have next to no mass.
#include "assess/quantity_tails.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "assess/laplace_marginal.hpp"
#include "magva/fit.hpp"

namespace magva {
namespace {

/// exp(theta_0) has a beta prime distribution with shapes 4 and b; theta_1 is normal around bend theta_0^2.
constexpr double kShapeA = 4;

auto log_beta_prime(double b, double bend = 0) {
  return make_model(2, [b, bend](ConstVectorRef theta, VectorRef gradient) {
    const double share = 1 / (1 + std::exp(-theta(0)));
    const double away = theta(1) - bend * theta(0) * theta(0);
    gradient(0) = kShapeA - (kShapeA + b) * share + 2 * away * bend * theta(0);
    gradient(1) = -away;
    return kShapeA * theta(0) - (kShapeA + b) * std::log1p(std::exp(theta(0))) - .5 * away * away;
  });
}

/// digamma(4) - digamma(b), and the root of trigamma(4) + trigamma(b).
const Gaussian kHeavy = Gaussian::dense(Vector{{.5529611, 0}}, Matrix{{.8798754, 0}, {0, 1}});    // b = 2.5
const Gaussian kEndless = Gaussian::dense(Vector{{.8333333, 0}}, Matrix{{.9637204, 0}, {0, 1}});  // b = 2
const Gaussian kLight = Gaussian::dense(Vector{{-.6906398, 0}}, Matrix{{.6530229, 0}, {0, 1}});   // b = 7.5

const Quantities kScale{{"scale", "logarithm"}, [](ConstMatrixRef theta) -> Matrix {
                          Matrix out(2, theta.cols());
                          out.row(0) = theta.row(0).array().exp();
                          out.row(1) = theta.row(0);
                          return out;
                        }};

std::vector<Doubt> tails_of(const Model& model, const Gaussian& q, std::uint64_t seed) {
  Evaluator evaluator(model, 1);
  return find_long_tails(evaluator, q, kScale, {seed, 10'000});
}

// The log-normal sd is 2.77, the posterior's 4.42. The path has it without noise, 4,000 draws have the
// log-normal's to .07 of its logarithm; so the ratio is within three times that of 1.60.
TEST(QuantityTails, AreFoundWhateverTheSeed) {
  const auto model = log_beta_prime(2.5);
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    const auto found = tails_of(model, kHeavy, seed);
    ASSERT_EQ(found.size(), 1U) << seed;
    EXPECT_EQ(found.front().parameter, "scale");
    EXPECT_NEAR(std::log(found.front().sd_ratio), std::log(1.6), .21) << seed;
  }
}

TEST(QuantityTails, MayHaveNoEnd) {
  const auto found = tails_of(log_beta_prime(2), kEndless, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_GT(found.front().sd_ratio, 2);
}

// Along a ridge that bends the others' modes are far from any line of conditional means.
TEST(QuantityTails, AreFollowedAlongRidgesThatBend) {
  const auto found = tails_of(log_beta_prime(2, 2), kEndless, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_GT(found.front().sd_ratio, 2);
}

// The posterior's sd is .425 and the log-normal's .452; a Gaussian posterior's exponential is log-normal,
// though its tail is longer than any coordinate's.
TEST(QuantityTails, OfWhatIsRightAreNotInDoubt) {
  const auto gaussian = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return .5 * theta.dot(gradient);
  });
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    EXPECT_TRUE(tails_of(log_beta_prime(7.5), kLight, seed).empty()) << seed;
    EXPECT_TRUE(tails_of(gaussian, Gaussian::dense(Vector::Zero(2), Matrix::Identity(2, 2)), seed).empty());
  }
}

// Whatever shape is chosen.
TEST(QuantityTails, LeaveAWarningToFits) {
  const auto model = log_beta_prime(2);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    FitOptions options;
    options.seed = seed;
    options.quantities = kScale;
    const FitResult found = fit(model, options);
    EXPECT_FALSE(found.warnings.empty()) << seed;
    EXPECT_TRUE(std::any_of(found.doubts.begin(), found.doubts.end(), [](const Doubt& doubt) {
      return doubt.parameter == "scale" && doubt.sd_ratio > 1.4;
    })) << seed;
  }
}

// A coordinate on which no quantity grows faster than itself takes no gradient.
TEST(QuantityTails, AreNotLookedForWhereQuantitiesAreLinear) {
  const auto model = log_beta_prime(2.5);
  Evaluator evaluator(model, 1);
  const Quantities linear{{"twice"}, [](ConstMatrixRef theta) -> Matrix { return 2 * theta.row(0); }};
  EXPECT_TRUE(find_long_tails(evaluator, kHeavy, linear, {1, 10'000}).empty());
  EXPECT_EQ(evaluator.evaluations(), 0);
}

// Of a normal distribution Laplace's value is the marginal density, and the mode is on the line.
TEST(ConditionalModes, OfAGaussianAreItsConditionalMeans) {
  const Matrix root{{1, 0}, {.6, .8}};
  const Gaussian q = Gaussian::dense(Vector{{1, 2}}, root);
  const Matrix precision = (root * root.transpose()).inverse();
  const auto model = make_model(2, [&](ConstVectorRef theta, VectorRef gradient) {
    const Vector away = theta - q.mean();
    gradient = -precision * away;
    return .5 * away.dot(gradient);
  });
  Evaluator evaluator(model, 1);
  const auto path = conditional_modes(evaluator, q, 0, [](ConstVectorRef) { return 0.; });
  ASSERT_TRUE(path);
  const double centre = path->log_density.maxCoeff();
  for (Index k = 0; k < path->z.size(); ++k) {
    const double z = path->z(k);
    EXPECT_NEAR(path->log_density(k) - centre, -.5 * z * z, 1e-4) << z;
    EXPECT_NEAR(path->theta(0, k), 1 + z, 1e-9);
    EXPECT_NEAR(path->theta(1, k), 2 + .6 * z, 1e-4);
  }
  EXPECT_LT(path->log_density(path->z.size() - 1), centre - 12);
}

}  // namespace
}  // namespace magva
