// Algorithm 1 with its Gaussian on a GPU against the same on the processor. Needs a GPU: `make test-gpu`.
#include <gtest/gtest.h>

#include <cmath>

#include "magva/device.hpp"
#include "magva/family_regression.hpp"
#include "magva/fit.hpp"
#include "support.hpp"

namespace magva {
namespace {

using testing::design_of;
using testing::Storage;
using testing::thinned;

Regression regression_of(Storage storage, Distribution family = Distribution::bernoulli) {
  RegressionData data{design_of(storage, {400, 270}), Vector(400), Vector(), {}};
  for (Index i = 0; i < 400; ++i)
    data.response(i) = static_cast<double>(family == Distribution::bernoulli ? i % 3 % 2 : i % 5 + 1);
  if (family == Distribution::bernoulli) return logistic_regression(std::move(data));
  return family_regression(std::move(data), family, Link::log, make_prior(NormalPriorOptions{}, 270));
}

FitOptions options_of(FamilyKind family, RuleKind rule, std::int64_t iterations) {
  FitOptions options;
  options.algorithm1.emplace();
  options.algorithm1->family = family;
  options.algorithm1->factor_rule = rule_defaults(rule);
  options.algorithm1->mean_rule = rule_defaults(rule);
  options.algorithm1->scale_rule = rule_defaults(rule);
  options.algorithm1->initial_residual_scale = .1;
  options.algorithm1->initial_factor_scale = .1;
  options.algorithm1->draws = 2;
  if (family != FamilyKind::kMeanField) options.rank = 5;
  options.max_iterations = iterations;
  options.diagnostic_draws = 100;
  return options;
}

/// Rounding errors double in an iteration or two, as printed rules have them: few are compared.
void compare(const Regression& cpu, const Model& gpu, const FitOptions& options) {
  const FitResult a = fit(gpu, options);
  const FitResult b = fit(cpu, options);
  const double width = b.posterior.sd().minCoeff();
  EXPECT_LT((a.posterior.mean() - b.posterior.mean()).cwiseAbs().maxCoeff(), 1e-12 * (1 + width));
  EXPECT_LT((a.posterior.sd() - b.posterior.sd()).cwiseAbs().maxCoeff(), 1e-12);
  Matrix theta = testing::random_theta(cpu, 5);
  theta.colwise() += b.posterior.mean();
  const Vector expected = b.posterior.log_density(theta);
  EXPECT_LT((a.posterior.log_density(theta) - expected).cwiseAbs().maxCoeff(),
            1e-9 * expected.cwiseAbs().maxCoeff());
  // Factors of one length have no directions of their own: rounding turns them, and the ELBO's draws with
  // them.
  if (options.algorithm1->family == FamilyKind::kGrassmann) return;
  EXPECT_NEAR(a.elbo, b.elbo, 1e-10 * std::abs(b.elbo));
}

TEST(DeviceFamily, IteratesAsOnTheProcessor) {
  for (const Storage storage :
       thinned(std::vector{Storage::float64, Storage::whole_numbers, Storage::sparse}, 3)) {
    const Regression cpu = regression_of(storage);
    const auto gpu = on_device(cpu, {.family_above = 0}).model;
    for (const FamilyKind family :
         {FamilyKind::kStiefel, FamilyKind::kGrassmann, FamilyKind::kVafc, FamilyKind::kMeanField})
      for (const RuleKind rule :
           thinned(std::vector{RuleKind::kAdadeltaGuarded, RuleKind::kBasic, RuleKind::kMomentum,
                               RuleKind::kRmspropGuarded, RuleKind::kRmspropStable, RuleKind::kAdadeltaStable,
                               RuleKind::kAdam},
                   7))
        for (const std::int64_t iterations : thinned(std::vector<std::int64_t>{3, 1}, 2)) {
          SCOPED_TRACE(::testing::Message() << "storage " << int(storage) << " " << name(family) << " "
                                            << name(rule) << " " << iterations);
          FitOptions options = options_of(family, rule, iterations);
          if (rule == RuleKind::kBasic || rule == RuleKind::kMomentum)
            for (RuleOptions* each : {&options.algorithm1->factor_rule, &options.algorithm1->mean_rule,
                                      &options.algorithm1->scale_rule})
              each->step = 1e-4;
          compare(cpu, *gpu, options);
        }
  }
}

TEST(DeviceFamily, TakesOwnParametersPathsAndPairs) {
  const Regression cpu = regression_of(Storage::float64, Distribution::negative_binomial);
  const auto gpu = on_device(cpu, {.family_above = 0}).model;
  FitOptions options = options_of(FamilyKind::kStiefel, RuleKind::kAdam, 3);
  compare(cpu, *gpu, options);
  options.algorithm1->estimator = Estimator::kPath;
  compare(cpu, *gpu, options);
  options.algorithm1->scales = ScaleCoordinates::kLog;
  options.algorithm1->antithetic = true;
  options.algorithm1->draws = 4;
  options.algorithm1->average_last = .7;
  compare(cpu, *gpu, options);
}

TEST(DeviceFamily, RepeatsItsBits) {
  const Regression cpu = regression_of(Storage::float64);
  const FitOptions options = options_of(FamilyKind::kStiefel, RuleKind::kAdadeltaGuarded, 200);
  const FitResult a = fit(*on_device(cpu, {.family_above = 0}).model, options);
  const FitResult b = fit(*on_device(cpu, {.family_above = 0}).model, options);
  EXPECT_EQ(a.posterior.mean(), b.posterior.mean());
  EXPECT_EQ(a.posterior.sd(), b.posterior.sd());
}

TEST(DeviceFamily, SaysWhyItStays) {
  const Regression cpu = regression_of(Storage::float64);
  const auto gpu = on_device(cpu, {.family_above = 0}).model;
  Algorithm1Options options;
  EXPECT_EQ(why_family_stays(*gpu, options, 4), "");
  EXPECT_NE(why_family_stays(*gpu, options, 40), "");
  EXPECT_EQ(why_family_stays(*on_device(cpu).model, options, 40), "");  // it has few parameters
}

}  // namespace
}  // namespace magva
