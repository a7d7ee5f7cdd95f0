// Fits of other shapes: what is inside a family is found, and what the Gaussian does well it keeps.
#include <gtest/gtest.h>

#include <cmath>

#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "shape/fit_shape.hpp"
#include "shape/shaped_gaussian.hpp"
#include "unit/shape/shape_maps.hpp"

namespace magva {
namespace {

constexpr double kLogTwoPi = 1.8378770664093453;

/// The density of a ShapedGaussian, normalised: the best ELBO is 0.
auto density_of(const ShapedGaussian& q) {
  return make_model(q.dimension(), [q](ConstVectorRef theta, VectorRef gradient) {
    const Matrix z = q.map().invert(theta);
    const ShapePass pass = q.map().forward(z);
    gradient = q.map().score(pass, -q.base().solve(z.colwise() - q.base().mean())).col(0);
    return q.base().log_density(z)(0) - pass.log_det(0);
  });
}

/// theta_2 = z_2 + c (z_1^2 - 1) of standard normal z.
auto banana(double c) {
  return make_model(2, [c](ConstVectorRef theta, VectorRef gradient) {
    const double rest = theta(1) - c * (theta(0) * theta(0) - 1);
    gradient(0) = -theta(0) + 2 * c * theta(0) * rest;
    gradient(1) = -rest;
    return -.5 * (theta(0) * theta(0) + rest * rest) - kLogTwoPi;
  });
}

/// theta_2 given theta_1 ~ N(0, 1) is normal with an sd of exp(a theta_1).
auto funnel(double a) {
  return make_model(2, [a](ConstVectorRef theta, VectorRef gradient) {
    const double scaled = theta(1) * std::exp(-a * theta(0));
    gradient(0) = -theta(0) - a + a * scaled * scaled;
    gradient(1) = -scaled * std::exp(-a * theta(0));
    return -.5 * (theta(0) * theta(0) + scaled * scaled) - a * theta(0) - kLogTwoPi;
  });
}

FitOptions with_shape(ShapeChoice shape, int layers = 4) {
  FitOptions options;
  options.shape = shape;
  options.layers = layers;
  return options;
}

/// A Gaussian whose margins are skewed in its parameters' coordinates, one more than the others.
ShapedGaussian skewed_posterior(const Gaussian& base) {
  ShapeMap map = ShapeMap::skewed(base);
  auto& parameters = map.stages().back().layers.front()->parameters();
  parameters[0].value.setConstant(-.4);
  parameters[0].value(0) = 1;
  parameters[1].value.setConstant(.1);
  parameters[2].value.setConstant(.3);
  return {base, std::move(map)};
}

TEST(FitShape, FindsASkewedPosteriorInsideTheFamily) {
  const ShapedGaussian truth = skewed_posterior(test::random_gaussian(3, 21));
  const auto model = density_of(truth);
  const FitResult result = fit(model, with_shape(ShapeChoice::kSkewed));
  ASSERT_STREQ(result.posterior.best().shape(), "skewed");
  ASSERT_EQ(result.shapes.size(), 2U);
  EXPECT_LT(result.shapes[0].elbo, -.02);  // of the Gaussian
  EXPECT_GT(result.elbo, -1e-3 - 3 * result.elbo_se);
  EXPECT_LT(result.elbo, 3 * result.elbo_se);
  EXPECT_LT((result.posterior.best().sd().cwiseQuotient(truth.sd()).array() - 1).abs().maxCoeff(), .03);
  EXPECT_TRUE(result.trusted);
  EXPECT_TRUE(result.doubts.empty());
}

TEST(FitShape, FlowsBendIntoABanana) {
  const auto model = banana(.8);
  const FitResult result = fit(model, with_shape(ShapeChoice::kFlow, 8));
  ASSERT_STREQ(result.posterior.best().shape(), "flow");
  EXPECT_GT(result.elbo, -.05);  // the density is normalised: 0 is what is possible
  EXPECT_LT(result.shapes[0].elbo, -.2);
}

TEST(FitShape, FlowsOpenIntoAFunnel) {
  const auto model = funnel(.6);
  const FitResult result = fit(model, with_shape(ShapeChoice::kFlow, 8));
  ASSERT_STREQ(result.posterior.best().shape(), "flow");
  EXPECT_GT(result.elbo, -.05);
}

// The sd of theta_2 is exp(a^2): most of it comes from tails that hold little mass.
TEST(FitShape, AFlowThatMissesTailsIsNotTrusted) {
  constexpr double kA = 1.5;
  const auto model = funnel(kA);
  const FitResult result = fit(model, with_shape(ShapeChoice::kFlow, 8));
  const double error = std::abs(std::log(result.posterior.best().sd()(1)) - kA * kA);
  ASSERT_GT(error, .25);  // else this asks for nothing
  EXPECT_FALSE(result.trusted && result.doubts.empty());
}

TEST(FitShape, AGaussianPosteriorKeepsTheGaussian) {
  const auto model = test::gaussian_target(Vector{{1, -2}}, Matrix{{2, .5}, {.5, 1}}, 0);
  const FitResult plain = fit(model, with_shape(ShapeChoice::kGaussian));
  const FitResult automatic = fit(model);
  EXPECT_TRUE(automatic.shapes.empty());
  EXPECT_EQ(&automatic.posterior.best(), &automatic.posterior.corrected());
  EXPECT_EQ(automatic.posterior.mean(), plain.posterior.mean());
  EXPECT_EQ(automatic.posterior.factors(), plain.posterior.factors());
  EXPECT_EQ(automatic.elbo, plain.elbo);
  EXPECT_EQ(automatic.gradient_evaluations, plain.gradient_evaluations);

  const FitResult skewed = fit(model, with_shape(ShapeChoice::kSkewed));
  ASSERT_EQ(skewed.shapes.size(), 2U);
  EXPECT_TRUE(skewed.shapes[0].kept);
  EXPECT_FALSE(skewed.shapes[1].kept);
  EXPECT_FALSE(skewed.posterior.has_shape());
}

TEST(FitShape, TheDefaultTriesAShapeWhereTheGaussianIsInDoubt) {
  const auto model = density_of(skewed_posterior(test::random_gaussian(2, 35)));
  const FitResult gaussian = fit(model, with_shape(ShapeChoice::kGaussian));
  ASSERT_FALSE(gaussian.doubts.empty());
  const FitResult result = fit(model);
  ASSERT_GE(result.shapes.size(), 2U);
  EXPECT_TRUE(result.posterior.has_shape());
  EXPECT_TRUE(result.trusted);
  EXPECT_TRUE(result.warnings.empty());
}

TEST(FitShape, ATrialGivesUpWhatCannotGain) {
  const auto model = test::gaussian_target(Vector{{1, -2}}, Matrix{{2, .5}, {.5, 1}}, 0);
  const Gaussian exact = fit(model, with_shape(ShapeChoice::kGaussian)).posterior;
  Evaluator evaluator(model, 1);
  const ShapeFitOptions options{.iterations = 600, .least_gain = .1};
  EXPECT_FALSE(fit_shape(evaluator, exact, ShapeMap::skewed(exact), options));
  EXPECT_LT(evaluator.evaluations(), 600 * options.pairs);  // half of all
}

TEST(FitShape, ATrialGoesOnToWhatGains) {
  const ShapedGaussian truth = skewed_posterior(test::random_gaussian(3, 21));
  const auto model = density_of(truth);
  const FitResult gaussian = fit(model, with_shape(ShapeChoice::kGaussian));
  ASSERT_LT(gaussian.elbo, -.02);
  Evaluator evaluator(model, 1);
  const auto found = fit_shape(evaluator, gaussian.posterior, ShapeMap::skewed(gaussian.posterior),
                               {.least_gain = -.5 * gaussian.elbo});
  ASSERT_TRUE(found);
  EXPECT_GE(evaluator.evaluations(), 600 * 2 * ShapeFitOptions{}.pairs);
  // The density is normalised: its KL divergence from the fit is minus the mean of log h - log q.
  const Matrix theta = found->draws(4000, 5);
  EXPECT_GT((truth.log_density(theta) - found->log_density(theta)).mean(), -3e-3);
}

TEST(FitShape, InvalidOptionsAreRefused) {
  const auto model = banana(.5);
  EXPECT_THROW((void)fit(model, with_shape(ShapeChoice::kAutomatic, 0)), UsageError);
  FitOptions options;
  options.shape = ShapeChoice::kFlow;
  options.algorithm1.emplace();
  EXPECT_THROW((void)fit(model, options), UsageError);
  options.algorithm1.reset();
  EXPECT_FALSE(options.validate(501).empty());
  EXPECT_TRUE(options.validate(500).empty());
  EXPECT_EQ(parse_shape("flow"), ShapeChoice::kFlow);
  EXPECT_THROW((void)parse_shape("round"), UsageError);
}

}  // namespace
}  // namespace magva
