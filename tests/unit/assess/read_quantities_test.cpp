// Quantities whose variance lies where the coordinates have next to no mass.
#include "assess/read_quantities.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "assess/assess.hpp"
#include "assess/laplace_marginal.hpp"

namespace magva {
namespace {

/// exp(theta_0) has a beta prime distribution with shapes a and b, theta_1 is standard normal.
constexpr double kShapeA = 4;

auto log_beta_prime(double b) {
  return make_model(2, [b](ConstVectorRef theta, VectorRef gradient) {
    const double share = 1 / (1 + std::exp(-theta(0)));
    gradient(0) = kShapeA - (kShapeA + b) * share;
    gradient(1) = -theta(1);
    return kShapeA * theta(0) - (kShapeA + b) * std::log1p(std::exp(theta(0))) - .5 * theta(1) * theta(1);
  });
}

/// Its moments of theta: digamma(4) - digamma(2.5), and the root of trigamma(4) + trigamma(2.5) (R).
Gaussian with_moments_of_log_beta_prime() {
  return Gaussian::dense(Vector{{.5529611, 0}}, Matrix{{.8798519, 0}, {0, 1}});
}

const Quantities kExponential{{"scale"},
                              [](ConstMatrixRef theta) -> Matrix { return theta.row(0).array().exp(); }};

/// sqrt(a (a + b - 1) / ((b - 2) (b - 1)^2))
double beta_prime_sd(double b) { return std::sqrt(kShapeA * (kShapeA + b - 1) / (b - 2)) / (b - 1); }

double sd_by_walk(const ReadQuantities* quantities) {
  const auto model = log_beta_prime(2.5);
  Evaluator evaluator(model, 1);
  const auto walk = laplace_walk(evaluator, with_moments_of_log_beta_prime(), 0, 1, quantities);
  return walk ? moments_of(kExponential.at(walk->sample.theta), walk->sample).sd(0) : 0;
}

// At z sds, exp(z) is (exp(z) - exp(1/2)) / sqrt((e - 1) e) sds from its mean; 400 draws have that sd to a
// tenth or two.
TEST(ReadQuantities, SayWhatAPointCountsForAVariance) {
  const Gaussian q = Gaussian::dense(Vector::Zero(2), Matrix::Identity(2, 2));
  const ReadQuantities exponential(kExponential, q, 1);
  const double away = (std::exp(8.) - std::exp(.5)) / std::sqrt(std::expm1(1.) * std::exp(1.));
  EXPECT_NEAR(exponential.log_stretch(Vector{{8, 0}}, 8), 2 * std::log(away / 8), .8);
  EXPECT_EQ(exponential.log_stretch(Vector{{-8, 0}}, -8), 0);
  const Quantities itself{{"theta"}, [](ConstMatrixRef theta) -> Matrix { return theta.row(0); }};
  EXPECT_NEAR(ReadQuantities(itself, q, 1).log_stretch(Vector{{8, 0}}, 8), 0, .3);
}

// A tenth of E scale^2 lies where the density of theta_0 has fallen by more than 12 nats.
TEST(ReadQuantities, AreFollowedToTheEndOfTheirTails) {
  const ReadQuantities read(kExponential, with_moments_of_log_beta_prime(), 1);
  EXPECT_NEAR(sd_by_walk(&read) / beta_prime_sd(2.5), 1, .03);
  EXPECT_LT(sd_by_walk(nullptr) / beta_prime_sd(2.5), .96);
}

TEST(ReadQuantities, MakeMassFarOutMatter) {
  const auto model = log_beta_prime(2.5);
  Evaluator evaluator(model, 1);
  const Gaussian q = with_moments_of_log_beta_prime();
  const ReadQuantities read(kExponential, q, 1);
  EXPECT_FALSE(has_far_mass(evaluator, q, 0));
  EXPECT_TRUE(has_far_mass(evaluator, q, 0, &read));
}

// The log-normal sd is 2.78, the posterior's 4.42: no seed decides whether draws have come across that.
TEST(ReadQuantities, AreInDoubtWhateverTheSeed) {
  const auto model = log_beta_prime(2.5);
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    Evaluator evaluator(model, 1);
    const Assessment found =
        assess(evaluator, with_moments_of_log_beta_prime(), {StopReason::kConverged, "", true, true},
               {4000, seed, &kExponential, std::nullopt});
    ASSERT_EQ(found.doubts.size(), 1U) << seed;
    EXPECT_EQ(found.doubts.front().parameter, "scale");
    EXPECT_GT(found.doubts.front().sd_ratio, 1.3);
  }
}

TEST(ReadQuantities, MayBeBeyondAllNumbersWhereThereIsNoWeight) {
  const PosteriorSample sample{Matrix::Zero(1, 3), Vector{{.5, .5, 0}}, 3};
  const SampleMoments found = moments_of(Matrix{{1, 3, HUGE_VAL}}, sample);
  EXPECT_DOUBLE_EQ(found.mean(0), 2);
  EXPECT_DOUBLE_EQ(found.sd(0), 1);
}

// A log-normal quantity of a Gaussian posterior is what it is, though its tail is longer than any
// coordinate's.
TEST(ReadQuantities, OfAGaussianAreNotInDoubt) {
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return .5 * theta.dot(gradient);
  });
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    Evaluator evaluator(model, 1);
    const Gaussian q = Gaussian::dense(Vector::Zero(2), Matrix::Identity(2, 2));
    const Assessment found = assess(evaluator, q, {StopReason::kConverged, "", true, true},
                                    {4000, seed, &kExponential, std::nullopt});
    EXPECT_TRUE(found.doubts.empty()) << seed;
    EXPECT_TRUE(found.trusted);
  }
}

}  // namespace
}  // namespace magva
