// The engine on models behind BridgeStan's interface, against closed forms.
#include <gtest/gtest.h>

#include <cmath>

#include "algorithm1/fitter.hpp"
#include "unit/stan/libraries.hpp"

namespace magva::stan {
namespace {

/// Full rank with the path estimator: its noise vanishes at a Gaussian posterior, so only the optimiser's
/// error is left.
FitterOptions exact_for_gaussians() {
  FitterOptions options;
  options.family = FamilyKind::kFullRank;
  options.estimator = Estimator::kPath;
  options.factor_rule = options.mean_rule = options.scale_rule = rule_defaults(RuleKind::kAdam);
  options.factor_rule.step = options.mean_rule.step = options.scale_rule.step = .05;
  options.decay = StepDecay::kCosine;
  options.draws = 4;
  options.max_iterations = 4000;
  return options;
}

TEST(StanFit, FindsAGaussianPosterior) {
  const auto model = open_test_model("gaussian", R"({"mean": [1, -2], "covariance": [[4, 1], [1, 2]]})");
  const auto fit = Fitter(model, exact_for_gaussians()).run();
  EXPECT_LT((fit.posterior.mean() - Vector{{1, -2}}).norm(), 1e-3);
  EXPECT_NEAR(fit.posterior.sd()(0), 2, 1e-3);
  EXPECT_NEAR(fit.posterior.sd()(1), std::sqrt(2.), 1e-3);
  EXPECT_NEAR(fit.posterior.covariance(0, 1), 1, 3e-3);
  EXPECT_EQ(fit.rejected_draws, 0);
}

TEST(StanFit, GivesConstrainedMomentsOfAPositiveScale) {
  const auto model =
      open_test_model("constrained", R"({"location": 0.5, "spread": 0.3, "alpha": [40, 25, 15]})");
  const auto fit = Fitter(model, exact_for_gaussians()).run();
  EXPECT_NEAR(fit.posterior.mean()(0), .5, 5e-3);
  EXPECT_NEAR(fit.posterior.sd()(0), .3, 5e-3);

  constexpr Index count = 4000;
  const auto draws = model.constrain(fit.posterior.draws(count, 1), {.transformed_parameters = false}, 1);
  ASSERT_EQ(draws.failed, 0);
  const Vector means = draws.values.rowwise().mean();
  // The lognormal's mean, within four standard errors of the draws and the fit's own .5%.
  const double mean = std::exp(.5 + .5 * .09);
  const double standard_error = mean * std::sqrt((std::exp(.09) - 1) / count);
  EXPECT_NEAR(means(0), mean, 4 * standard_error + .005 * mean);
  // The Dirichlet's means: sds are about .055; the Gaussian on the logistic scale is off by less than .1 of
  // them.
  const Vector dirichlet{{.5, .3125, .1875}};
  EXPECT_LT((means.tail(3) - dirichlet).cwiseAbs().maxCoeff(), .0055 + 4 * .055 / std::sqrt(count));
  EXPECT_LT((draws.values.bottomRows(3).colwise().sum().array() - 1).abs().maxCoeff(), 1e-12);
}

TEST(StanFit, RejectsAndCountsTheDrawsThatThrow) {
  const auto model = open_test_model("faulty", R"({"m": 2, "above": 2, "fault": "throw"})");
  const auto fit = Fitter(model, exact_for_gaussians()).run();
  EXPECT_GT(fit.rejected_draws, 0);
  EXPECT_EQ(static_cast<std::uint64_t>(fit.rejected_draws), model.rejections().thrown);
  EXPECT_NEAR(fit.posterior.mean()(1), 0, .05);
}

}  // namespace
}  // namespace magva::stan
