#include <gtest/gtest.h>

#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "targets.hpp"

namespace magva {
namespace {

bool warns_of(const FitResult& result, const std::string& words) {
  for (const auto& warning : result.warnings)
    if (warning.message.find(words) != std::string::npos) return true;
  return false;
}

// The posterior is Gaussian and normalised: the family's best ELBO is exactly 0, and at the optimum the
// ELBO's noise is 0.
TEST(FitAuto, FindsAGaussianWhoseScalesDifferByAMillion) {
  const FitResult result = fit(targets::chain(7));
  EXPECT_EQ(result.stopped, StopReason::kConverged);
  EXPECT_TRUE(result.trusted);
  EXPECT_NEAR(result.elbo, 0, .1);
  EXPECT_LT(result.khat, .5);
  for (Index i = 0; i < 7; ++i) {
    const double sd = std::pow(10., static_cast<double>(i) - 3);
    EXPECT_NEAR(result.posterior.mean()(i), static_cast<double>(i), .05 * sd);
    EXPECT_NEAR(result.posterior.sd()(i), sd, .05 * sd);
  }
}

TEST(FitAuto, MeanFieldOfAGaussianIsWithinThePromise) {
  FitOptions options;
  options.rank = 0;
  const FitResult result = fit(targets::chain(5), options);
  EXPECT_EQ(result.stopped, StopReason::kConverged);
  // KL(q || p) of the best mean-field q: (sum log precision diagonal - log |precision|)/2, with unit sds.
  const double r = .95;
  const double s2 = 1 - r * r;
  const double best = -.5 * (2 * std::log(1 / s2) + 3 * std::log((1 + r * r) / s2) + 4 * std::log(s2));
  EXPECT_GT(result.elbo, best - .1 - 3 * result.elbo_se);
  EXPECT_LT(result.elbo, best + 3 * result.elbo_se + 1e-9);
}

// A Poisson count of 1 for each parameter, its log rate: E log h is known, and the best mean-field Gaussian
// has sd 1 and mean -1/2. At the end the iterates' own noise costs up to .25 nats; averages must have less
// than half of it.
TEST(FitAuto, AFitThatRunsOutOfGradientsReturnsAnAverageWithoutMostOfTheNoise) {
  constexpr Index kSize = 100;
  const auto model = make_model(kSize, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = 1 - theta.array().exp();
    return (theta.array() - theta.array().exp()).sum();
  });
  const auto elbo = [](ConstVectorRef mean, ConstVectorRef sd) {
    const auto variance = sd.array().square();
    return (mean.array() - (mean.array() + .5 * variance).exp() + sd.array().log()).sum();
  };
  const double best = elbo(Vector::Constant(kSize, -.5), Vector::Ones(kSize));
  FitOptions options;
  options.rank = 0;
  options.starts = 1;
  options.diagnostic_draws = 100;
  options.max_evaluations = 5000;
  for (options.seed = 1; options.seed <= 8; ++options.seed) {
    const FitResult result = fit(model, options);
    EXPECT_EQ(result.stopped, StopReason::kIterationLimit);
    EXPECT_LT(best - elbo(result.posterior.mean(), result.posterior.residual_sd()), .12) << options.seed;
  }
}

// A shape with tails of its own does not change that: what makes the sds is where no draw goes.
TEST(FitAuto, HeavyTailsAreNotTrusted) {
  for (const ShapeChoice shape : {ShapeChoice::kGaussian, ShapeChoice::kAutomatic, ShapeChoice::kSkewed}) {
    FitOptions options;
    options.shape = shape;
    const FitResult result = fit(targets::student(4), options);
    EXPECT_FALSE(result.trusted);
    EXPECT_TRUE(warns_of(result, "like a logarithm"));
  }
}

TEST(FitAuto, SeveralModesAreNotTrusted) {
  const FitResult result = fit(targets::two_modes(2, 3));
  EXPECT_FALSE(result.trusted);
  EXPECT_TRUE(warns_of(result, "several modes"));
}

TEST(FitAuto, AnImproperPosteriorIsNotTrusted) {
  const FitResult result = fit(targets::improper());
  EXPECT_FALSE(result.trusted);
  EXPECT_TRUE(warns_of(result, "improper"));
}

TEST(FitAuto, SeparatedDataWithoutAPriorAreNotTrusted) {
  const FitResult result = fit(targets::separable());
  EXPECT_FALSE(result.trusted);
  EXPECT_FALSE(result.warnings.empty());
}

// The best Gaussian for this funnel is known from long runs: ELBO -1.92.
TEST(FitAuto, AFunnelIsFittedWhereItsMassIs) {
  const FitResult result = fit(targets::funnel(10));
  EXPECT_GT(result.elbo, -2.3);
  EXPECT_FALSE(result.trusted && result.khat > .7 && result.warnings.empty());
}

TEST(FitAuto, TheSameSeedGivesTheSameBitsForAnyNumberOfThreads) {
  FitOptions options;
  options.max_evaluations = 3000;
  const FitResult one = fit(targets::chain(6), options);
  options.threads = 2;
  const FitResult two = fit(targets::chain(6), options);
  EXPECT_EQ(one.posterior.mean(), two.posterior.mean());
  EXPECT_EQ(one.posterior.factors(), two.posterior.factors());
  EXPECT_EQ(one.elbo, two.elbo);
}

TEST(FitAuto, AnObserverInterruptsAndTheResultStands) {
  int calls = 0;
  const FitResult result = fit(targets::student(3), {},
                               {[&](const FitView& view) { return ++calls < 30 || view.iteration == 0; }});
  EXPECT_EQ(result.stopped, StopReason::kInterrupted);
  EXPECT_FALSE(result.trusted);
  EXPECT_TRUE(result.posterior.mean().allFinite());
}

TEST(FitAuto, ADensityThatIsFiniteNowhereIsRefused) {
  const auto nowhere = make_model(2, [](ConstVectorRef, VectorRef gradient) {
    gradient.setZero();
    return -std::numeric_limits<double>::infinity();
  });
  EXPECT_THROW(fit(nowhere), DataError);
}

TEST(FitAuto, EveryFaultOfTheOptionsIsNamedAtOnce) {
  FitOptions options;
  options.starts = 0;
  options.rank = -1;
  options.threads = -1;
  EXPECT_EQ(options.validate(3).size(), 3U);
  EXPECT_THROW(fit(targets::student(3), options), UsageError);
}

}  // namespace
}  // namespace magva
