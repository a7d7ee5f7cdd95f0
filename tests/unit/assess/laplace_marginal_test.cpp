// Marginals by Laplace's method and modes elsewhere, against posteriors whose moments are known.
#include "assess/laplace_marginal.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include <cmath>

#include "assess/other_modes.hpp"

namespace magva {
namespace {

/// v ~ N(0, s^2), x_k | v ~ N(0, exp(v)).
auto funnel(Index below, double s) {
  return make_model(below + 1, [below, s](ConstVectorRef theta, VectorRef gradient) {
    const double v = theta(0);
    const auto x = theta.tail(below);
    const auto k = static_cast<double>(below);
    gradient(0) = -v / (s * s) - .5 * k + .5 * std::exp(-v) * x.squaredNorm();
    gradient.tail(below) = -std::exp(-v) * x;
    return -.5 * v * v / (s * s) - .5 * k * v - .5 * std::exp(-v) * x.squaredNorm();
  });
}

Gaussian isotropic(Index m, double sd) {
  return Gaussian::dense(Vector::Zero(m), sd * Matrix::Identity(m, m));
}

// Given v the x are normal, so that Laplace's method is exact but for the grid; the Gaussian, which has half
// the sd of v and is centred too high, never comes near the neck.
TEST(LaplaceMarginal, FollowsAFunnelIntoItsNeck) {
  const double s = 1.5;
  const auto model = funnel(3, s);
  Evaluator evaluator(model, 1);
  Vector mean = Vector::Zero(4);
  mean(0) = .5;
  const Gaussian q = Gaussian::dense(mean, .75 * Matrix::Identity(4, 4));
  const auto walk = laplace_walk(evaluator, q, 0, 1);
  ASSERT_TRUE(walk.has_value());
  const MarginalError& found = walk->errors[0];
  EXPECT_NEAR(found.shift, -.5 / .75, .03);
  EXPECT_NEAR(found.sd_ratio, s / .75, .03);
  EXPECT_GT(found.effective_draws, 100);
}

// The x are a mixture of normals over v, whose sds no line along x and no draw of the Gaussian shows: the
// square root of E exp(v).
TEST(LaplaceMarginal, SaysHowWideTheOthersAre) {
  const double s = 1.2;
  const auto model = funnel(3, s);
  Evaluator evaluator(model, 1);
  const auto walk = laplace_walk(evaluator, isotropic(4, .75), 0, 1);
  ASSERT_TRUE(walk.has_value());
  const std::vector<MarginalError>& found = walk->errors;
  ASSERT_EQ(found.size(), 4U);
  EXPECT_NEAR(found[0].sd_ratio, s / .75, .03);
  for (std::size_t j = 1; j < 4; ++j) {
    EXPECT_EQ(found[j].coordinate, static_cast<Index>(j));
    EXPECT_NEAR(found[j].shift, 0, 1e-6);
    EXPECT_NEAR(found[j].sd_ratio, std::exp(s * s / 4) / .75, .04);
  }
}

// Given x_1, v is far from normal, with x_2 and x_3 on it: the draws around the conditional mode say so.
TEST(LaplaceMarginal, SaysNothingWhereTheOthersAreNotNormal) {
  const auto model = make_model(3, [](ConstVectorRef theta, VectorRef gradient) {
    const Vector square = theta.array().square();
    const double rest = square(1) + square(2) - 4;  // a ring
    gradient(0) = -theta(0);
    gradient(1) = -4 * rest * theta(1);
    gradient(2) = -4 * rest * theta(2);
    return -.5 * square(0) - rest * rest;
  });
  Evaluator evaluator(model, 1);
  EXPECT_FALSE(laplace_walk(evaluator, isotropic(3, 1), 0, 1).has_value());
}

TEST(LaplaceMarginal, LeavesAGaussianAsItIs) {
  const auto model = make_model(3, [](ConstVectorRef theta, VectorRef gradient) {
    const Matrix precision{{2, .8, 0}, {.8, 1, .3}, {0, .3, 1.5}};
    gradient = -precision * theta;
    return .5 * theta.dot(gradient);
  });
  const Matrix precision{{2, .8, 0}, {.8, 1, .3}, {0, .3, 1.5}};
  const Matrix covariance = precision.llt().solve(Matrix::Identity(3, 3));
  const Gaussian q = Gaussian::dense(Vector::Zero(3), covariance.llt().matrixL());
  Evaluator evaluator(model, 1);
  for (Index i = 0; i < 3; ++i) {
    const auto walk = laplace_walk(evaluator, q, i, 1);
    ASSERT_TRUE(walk.has_value());
    for (const MarginalError& each : walk->errors) {
      EXPECT_NEAR(each.shift, 0, 1e-6);
      EXPECT_NEAR(each.sd_ratio, 1, 2e-3);
      EXPECT_NEAR(each.se, 0, 1e-6);
    }
  }
}

/// Given theta_0 the others are skewed, so that draws around their mode decide on their moments.
auto skewed_others(Index m) {
  return make_model(m, [m](ConstVectorRef theta, VectorRef gradient) {
    gradient(0) = -theta(0);
    double value = -.5 * theta(0) * theta(0);
    for (Index i = 1; i < m; ++i) {  // the logarithm of a gamma variable with shape 20
      gradient(i) = 20 - std::exp(theta(i));
      value += 20 * theta(i) - std::exp(theta(i));
    }
    return value;
  });
}

// Over many seeds the means' errors are what their standard errors say: digamma(20) = 2.970524, trigamma(20)
// = .051271 (R).
TEST(LaplaceMarginal, ErrsAsItSays) {
  const auto model = skewed_others(5);
  Evaluator evaluator(model, 1);
  Vector mean = Vector::Constant(5, 2.970524);
  mean(0) = 0;
  Vector sd = Vector::Constant(5, std::sqrt(.051271));
  sd(0) = 1;
  const Gaussian q = Gaussian::dense(mean, sd.asDiagonal());
  constexpr int kSeeds = 60;
  double squares = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const auto walk = laplace_walk(evaluator, q, 0, static_cast<std::uint64_t>(seed));
    ASSERT_TRUE(walk.has_value());
    for (std::size_t j = 1; j < 5; ++j) {
      const MarginalError& error = walk->errors[j];
      EXPECT_GT(error.se, 0);
      squares += error.shift * error.shift / (error.se * error.se);
    }
  }
  EXPECT_LT(squares / (4 * kSeeds), 2);  // `se` is the larger of two: below 1 but for its own noise
}

/// A hundredth of the mass, wide, around (-20, 8): a straight line from the rest, at 0, does not come there.
auto ledge() {
  return make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    const double here = -.5 * theta.squaredNorm();
    const double a = theta(0) + 20, b = theta(1) - 8;
    const double there = -5 - .5 * a * a / 25 - .5 * b * b;
    const double share = 1 / (1 + std::exp(here - there));
    gradient = -(1 - share) * theta;
    gradient(0) -= share * a / 25;
    gradient(1) -= share * b;
    return std::max(here, there) + std::log1p(std::exp(-std::abs(here - there)));
  });
}

TEST(LaplaceMarginal, SeesMassThatNoLineShows) {
  const auto model = ledge();
  Evaluator evaluator(model, 1);
  EXPECT_TRUE(has_far_mass(evaluator, isotropic(2, 1), 0));
  const auto normal = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  });
  Evaluator plain(normal, 1);
  EXPECT_FALSE(has_far_mass(plain, isotropic(2, 1), 0));
}

// The draws of a walk are a sample: the sd exp(v / 2) is log-normal, with moments in closed form.
TEST(LaplaceMarginal, LeavesASampleOfThePosterior) {
  const double s = 1;
  const auto model = funnel(3, s);
  Evaluator evaluator(model, 1);
  const auto walk = laplace_walk(evaluator, isotropic(4, .75), 0, 1);
  ASSERT_TRUE(walk.has_value());
  EXPECT_NEAR(walk->sample.weights.sum(), 1, 1e-12);
  const Matrix scale = (.5 * walk->sample.theta.row(0)).array().exp();
  const SampleMoments found = moments_of(scale, walk->sample);
  EXPECT_NEAR(found.mean(0), std::exp(s * s / 8), .01);
  EXPECT_NEAR(found.sd(0), std::exp(s * s / 8) * std::sqrt(std::expm1(s * s / 4)), .01);
  EXPECT_LT(found.mean_se(0), 1e-6);  // given v the x are normal: no noise
}

TEST(PosteriorSample, HasTheStandardErrorsOfIndependentDraws) {
  constexpr Index kDraws = 400;
  const Matrix values = Vector::LinSpaced(kDraws, -1, 1).transpose();
  const PosteriorSample sample{values, Vector::Constant(kDraws, 1. / kDraws), kDraws};
  const SampleMoments found = moments_of(values, sample);
  const double sd = std::sqrt(values.array().square().mean());
  EXPECT_NEAR(found.mean(0), 0, 1e-12);
  EXPECT_NEAR(found.sd(0), sd, 1e-12);
  EXPECT_NEAR(found.mean_se(0), sd / std::sqrt(kDraws - 1.), 1e-12);
  // The kurtosis of a uniform variable is 1.8.
  EXPECT_NEAR(found.log_sd_se(0), .5 * std::sqrt((1.8 - 1) / kDraws), 1e-3);
}

/// Normals at 0, and at `apart` along a diagonal with a share of the mass.
auto two_normals(Index m, double apart, double share) {
  return make_model(m, [=](ConstVectorRef theta, VectorRef gradient) {
    const Vector centre = Vector::Constant(m, apart / std::sqrt(static_cast<double>(m)));
    const double first = std::log(1 - share) - .5 * theta.squaredNorm();
    const double second = std::log(share) - .5 * (theta - centre).squaredNorm();
    const double of_second = 1 / (1 + std::exp(first - second));
    gradient = -theta + of_second * centre;
    return std::max(first, second) + std::log1p(std::exp(-std::abs(first - second)));
  });
}

TEST(OtherModes, AreFoundWithTheirMass) {
  for (const Index m : {2, 4}) {
    const auto model = two_normals(m, 7, .3);
    Evaluator evaluator(model, 1);
    const auto found = find_other_mode(evaluator, isotropic(m, 1), 1);
    ASSERT_TRUE(found.has_value());
    EXPECT_NEAR(found->share, .3, .01);
    EXPECT_NEAR(found->theta.norm(), 7, .01);
  }
}

TEST(OtherModes, AreNotSeenWhereThereIsOne) {
  const auto model = two_normals(3, 2, .5);
  Evaluator evaluator(model, 1);
  const Gaussian q = Gaussian::dense(Vector::Constant(3, 1 / std::sqrt(3.)), 1.2 * Matrix::Identity(3, 3));
  EXPECT_FALSE(find_other_mode(evaluator, q, 1).has_value());
}

// No counts at all under a wide prior: a plateau, on which searches end where they are.
TEST(OtherModes, AreNotSeenOnAPlateau) {
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    const Vector rate = (Matrix{{1, 1}, {1, -1}, {1, 0}} * theta).array().exp();
    gradient = -Matrix{{1, 1, 1}, {1, -1, 0}} * rate - theta / 1e3;
    return -rate.sum() - .5 * theta.squaredNorm() / 1e3;
  });
  Evaluator evaluator(model, 1);
  const Gaussian q = Gaussian::dense(Vector{{-8, 0}}, Matrix{{4, 0}, {0, 3}});
  EXPECT_FALSE(find_other_mode(evaluator, q, 1).has_value());
}

}  // namespace
}  // namespace magva
