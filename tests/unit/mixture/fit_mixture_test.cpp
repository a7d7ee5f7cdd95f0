// Mixtures over hyper-parameters, against hierarchical posteriors whose moments are known by quadrature.
#include "mixture/fit_mixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fit/mixture_run.hpp"
#include "magva/fit.hpp"
#include "mixture/hyper_parameters.hpp"
#include "mixture/spline.hpp"
#include "support/hierarchical.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

using test::exact_moments;
using test::Groups;
using test::Moments;
using test::NoisyStates;
using test::simulated_groups;
using test::worst_mean;
using test::worst_sd;

FitOptions gaussian_alone() {
  FitOptions options;
  options.shape = ShapeChoice::kGaussian;
  return options;
}

TEST(HyperParameters, AreThoseThatDecideHowWideOthersAre) {
  const auto groups = simulated_groups(60, .5, .3, 11).model();
  const Gaussian q = fit(groups, gaussian_alone()).posterior;
  Evaluator evaluator(groups, 1);
  EXPECT_EQ(find_hyper_parameters(evaluator, q, 1), std::vector<Index>{1});
  // One that is known and loses nothing is none; one that is known and loses enough comes first.
  EXPECT_EQ(find_hyper_parameters(evaluator, q, 1, kLeastHyperLoss, {7}), std::vector<Index>{1});
  EXPECT_EQ(find_hyper_parameters(evaluator, q, 1, 1e-6, {7}).front(), 7);

  const Matrix root = Matrix::Identity(5, 5) + .2 * test::random_matrix(5, 5, 3);
  const auto gaussian = test::gaussian_target(Vector::Ones(5), root * root.transpose(), 0);
  Evaluator of_gaussian(gaussian, 1);
  EXPECT_TRUE(find_hyper_parameters(of_gaussian, fit(gaussian).posterior, 1).empty());
}

// The best Gaussian's sd of log sd is more than a fifth too small. Given log sd all others are normal, so
// that only the cells' constant widths are left.
TEST(FitMixture, HasTheMomentsOfAHierarchicalPosterior) {
  for (const double sd : {.2, .7}) {
    const Groups groups = simulated_groups(60, sd, .3, 11);
    const auto model = groups.model();
    const Gaussian q = fit(model, gaussian_alone()).posterior;
    const Moments exact = exact_moments(groups);
    EXPECT_GT(worst_sd(q, exact), .1) << sd;
    Evaluator evaluator(model, 1);
    const auto mixture = fit_mixture(evaluator, q, full_pattern(62), {1}, 1).mixture;
    ASSERT_NE(mixture, nullptr) << sd;
    EXPECT_LT(worst_mean(*mixture, exact), .03) << sd;
    EXPECT_LT(worst_sd(*mixture, exact), .03) << sd;
  }
}

// From a Gaussian that says sd = .02, where the mass is 40 nats lower.
TEST(FitMixture, GoesToWhereTheMassIs) {
  const Groups groups = simulated_groups(60, .7, .3, 11);
  const auto model = groups.model();
  Evaluator evaluator(model, 1);
  Vector mean = Vector::Zero(62);
  mean(1) = -4;
  Gaussian from = Gaussian::dense(mean, .5 * Matrix::Identity(62, 62));
  MixtureAttempt found = fit_mixture(evaluator, from, full_pattern(62), {1}, 1);
  ASSERT_TRUE(found.elsewhere.has_value());
  for (int k = 0; k < 4 && found.elsewhere; ++k) {
    from = *found.elsewhere;
    found = fit_mixture(evaluator, from, full_pattern(62), {1}, 1);
  }
  ASSERT_NE(found.mixture, nullptr);
  const Moments exact = exact_moments(groups);
  EXPECT_LT(worst_mean(*found.mixture, exact), .03);
  EXPECT_LT(worst_sd(*found.mixture, exact), .03);
}

// All of it, with a pattern that was found by probing gradients.
TEST(FitMixture, IsWhatTheDefaultReportsOfManyGroups) {
  const Groups groups = simulated_groups(200, .3, .5, 5);
  const FitResult result = fit(groups.model());
  const Moments exact = exact_moments(groups);
  EXPECT_STREQ(result.posterior.best().shape(), "mixture");
  EXPECT_LT(worst_mean(result.posterior.best(), exact), .05);
  EXPECT_LT(worst_sd(result.posterior.best(), exact), .05);
  EXPECT_TRUE(result.trusted);
  EXPECT_TRUE(result.warnings.empty());
  EXPECT_LT(result.khat, .7);
}

// The density has no bound where the residual sd is zero, and every search for a mode ends there.
TEST(FitMixture, IsWhatTheDefaultReportsWhereTheModeIsASpike) {
  const NoisyStates states = test::simulated_states(200, .8, 7);
  const Moments exact = exact_moments(states);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    FitOptions options;
    options.seed = seed;
    const FitResult result = fit(states.model(), options);
    EXPECT_STREQ(result.posterior.best().shape(), "mixture");
    EXPECT_EQ(result.stopped, StopReason::kConverged);
    EXPECT_LT(worst_mean(result.posterior.best(), exact), .05);
    EXPECT_LT(worst_sd(result.posterior.best(), exact), .05);
    EXPECT_TRUE(result.trusted);
    EXPECT_TRUE(result.warnings.empty());
  }
}

// Two hyper-parameters between whose values the others' means and precisions change by factors. The bounds:
// what the verdict calls no doubt, .1.
TEST(FitMixture, IsWhatTheDefaultReportsOfARandomWalkInNoise) {
  const test::NoisyWalk walk = test::simulated_walk(120, .2, .5, 9);
  const Moments exact = exact_moments(walk);
  for (const std::uint64_t seed : {1U, 2U}) {
    FitOptions options;
    options.seed = seed;
    const FitResult result = fit(walk.model(), options);
    EXPECT_STREQ(result.posterior.best().shape(), "mixture");
    EXPECT_LT(worst_mean(result.posterior.best(), exact), .1);
    EXPECT_LT(worst_sd(result.posterior.best(), exact), .1);
    EXPECT_TRUE(result.trusted);
  }
}

/// These groups, and exp(-12) of their mass mirrored: the mean and all effects have other signs there, and
/// the only hyper-parameter is the same.
auto with_lesser_mirror_image(const Groups& groups) {
  return make_model(groups.y.size() + 2, [groups](ConstVectorRef theta, VectorRef gradient) {
    Vector mirrored = -theta;
    mirrored(1) = theta(1);
    Vector gradient_there(theta.size());
    const double here = groups.log_density(theta, gradient);
    const double there = groups.log_density(mirrored, gradient_there) - 12;
    gradient_there *= -1;
    gradient_there(1) *= -1;
    const double top = std::max(here, there);
    const double sum = std::exp(here - top) + std::exp(there - top);
    gradient = (std::exp(here - top) * gradient + std::exp(there - top) * gradient_there) / sum;
    return top + std::log(sum);
  });
}

// A fit that begins in the mirror image finds a mixture there of which nothing is in doubt.
TEST(FitMixture, IsFoundWhereThereIsMoreMassGivenTheSameHyperParameters) {
  Groups groups = simulated_groups(100, .3, .5, 5);
  groups.y.array() += 3;
  FitOptions options;
  options.init = Vector::Zero(102);
  (*options.init)(0) = -3;
  const FitResult result = fit(with_lesser_mirror_image(groups), options);
  const Moments exact = exact_moments(groups);
  EXPECT_STREQ(result.posterior.best().shape(), "mixture");
  EXPECT_LT(worst_mean(result.posterior.best(), exact), .05);
  EXPECT_LT(worst_sd(result.posterior.best(), exact), .05);
  EXPECT_TRUE(result.trusted);
}

/// A result that says this of a Gaussian.
FitResult result_of(const Gaussian& q, StopReason stopped, double elbo, std::vector<Warning> warnings) {
  const bool trusted = warnings.empty();
  return {q, std::nullopt, stopped, "", elbo, .01, .1, trusted, std::move(warnings), {}, {}, {}, 0, 0, 0, 0};
}

// Whatever became of the joint Gaussian: the better of both is the result.
TEST(TryMixture, KeepsWhatWasFoundBeforeIfThatIsBetter) {
  const Groups groups = simulated_groups(70, .5, .3, 11);
  const auto model = groups.model();
  Evaluator evaluator(model, 1);
  const FitOptions options;
  std::shared_ptr<const HessianPattern> pattern;
  const auto mass = fit_mean_field(evaluator, model.start(), 1);
  ASSERT_TRUE(mass.has_value());
  const auto early = find_mixture(evaluator, *mass, pattern, options);
  ASSERT_TRUE(early && early->assessed);
  const double elbo = early->assessed->assessment.elbo;

  const Gaussian far = Gaussian::dense(Vector::Constant(72, 50), Matrix::Identity(72, 72));
  FitResult diverged =
      result_of(far, StopReason::kDiverged, -1e6, {{WarningKind::kNotConverged, "it diverged"}});
  try_mixture(evaluator, pattern, &*early, options, diverged);
  EXPECT_EQ(diverged.elbo, elbo);
  EXPECT_EQ(diverged.stopped, StopReason::kConverged);
  EXPECT_TRUE(diverged.trusted);
  EXPECT_TRUE(diverged.warnings.empty());
  const Moments exact = exact_moments(groups);
  EXPECT_LT(worst_mean(diverged.posterior.best(), exact), .05);
  EXPECT_LT(worst_sd(diverged.posterior.best(), exact), .05);

  FitResult better = result_of(far, StopReason::kConverged, elbo + 1, {});
  try_mixture(evaluator, pattern, &*early, options, better);
  EXPECT_EQ(better.elbo, elbo + 1);
  EXPECT_EQ(better.posterior.mean(), far.mean());
}

TEST(TrendedSpline, GoesThroughItsPointsAndHasQuadraticsExactly) {
  const Matrix points = test::random_matrix(3, 30, 1);
  Matrix values(2, 30);
  values.row(0) = points.row(0).array().sin();
  values.row(1) = 1 + points.row(1).array() * points.row(2).array() - points.row(0).array().square();
  const TrendedSpline spline(points, values);
  EXPECT_LT((spline(points) - values).cwiseAbs().maxCoeff(), 1e-9);
  const Matrix elsewhere = 3 * test::random_matrix(3, 10, 2);
  const Vector quadratic =
      1 + elsewhere.row(1).array() * elsewhere.row(2).array() - elsewhere.row(0).array().square();
  EXPECT_LT((spline(elsewhere).row(1).transpose() - quadratic).cwiseAbs().maxCoeff(), 1e-7);
}

TEST(PolyharmonicSpline, GoesThroughItsPointsAndHasLinearFunctionsExactly) {
  const Matrix points = test::random_matrix(3, 20, 1);
  Matrix values(2, 20);
  values.row(0) = points.row(0).array().sin();
  values.row(1) = 1 + (points.row(1) - 2 * points.row(2)).array();
  const PolyharmonicSpline spline(points, values);
  EXPECT_LT((spline(points) - values).cwiseAbs().maxCoeff(), 1e-9);
  const Matrix elsewhere = 3 * test::random_matrix(3, 10, 2);
  const Vector linear = 1 + (elsewhere.row(1) - 2 * elsewhere.row(2)).array();
  EXPECT_LT((spline(elsewhere).row(1).transpose() - linear).cwiseAbs().maxCoeff(), 1e-8);
}

}  // namespace
}  // namespace magva
