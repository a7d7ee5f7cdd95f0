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
  const auto found = laplace_marginal(evaluator, q, 0, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->shift, -.5 / .75, .03);
  EXPECT_NEAR(found->sd_ratio, s / .75, .03);
  EXPECT_GT(found->effective_draws, 100);
}

// The x are a mixture of normals over v, whose sds no line along x and no draw of the Gaussian shows: the
// square root of E exp(v).
TEST(LaplaceMarginal, SaysHowWideTheOthersAre) {
  const double s = 1.2;
  const auto model = funnel(3, s);
  Evaluator evaluator(model, 1);
  const auto found = laplace_marginals(evaluator, isotropic(4, .75), 0, 1);
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->size(), 4U);
  EXPECT_NEAR((*found)[0].sd_ratio, s / .75, .03);
  for (std::size_t j = 1; j < 4; ++j) {
    EXPECT_EQ((*found)[j].coordinate, static_cast<Index>(j));
    EXPECT_NEAR((*found)[j].shift, 0, 1e-6);
    EXPECT_NEAR((*found)[j].sd_ratio, std::exp(s * s / 4) / .75, .04);
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
  EXPECT_FALSE(laplace_marginal(evaluator, isotropic(3, 1), 0, 1).has_value());
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
    const auto found = laplace_marginal(evaluator, q, i, 1);
    ASSERT_TRUE(found.has_value());
    EXPECT_NEAR(found->shift, 0, 1e-6);
    EXPECT_NEAR(found->sd_ratio, 1, 2e-3);
    const auto others = laplace_marginals(evaluator, q, i, 1);
    ASSERT_TRUE(others.has_value());
    for (const MarginalError& other : *others) {
      EXPECT_NEAR(other.shift, 0, 1e-6);
      EXPECT_NEAR(other.sd_ratio, 1, 2e-3);
    }
  }
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
