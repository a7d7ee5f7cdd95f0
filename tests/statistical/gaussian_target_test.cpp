// A Gaussian posterior inside the family: the answer is known exactly.
#include <gtest/gtest.h>

#include "algorithm1/fitter.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

struct Target {
  Vector mean;
  Matrix covariance;
};

// Correlated through two factors, sds from .1 to 10; inside every family where B is free to scale.
Target two_factors(Index m) {
  const Vector s = (Vector::LinSpaced(m, -1, 1) * std::log(10.)).array().exp();
  const Matrix w = test::random_matrix(m, 2, 3);
  Matrix correlation = w * w.transpose();
  correlation.diagonal().array() += .5;
  return {10 * test::random_matrix(m, 1, 4).cwiseProduct(s), s.asDiagonal() * correlation * s.asDiagonal()};
}

FitterOptions path_options(FamilyKind kind, Index rank) {
  FitterOptions options;
  options.family = kind;
  options.rank = rank;
  options.scales = ScaleCoordinates::kLog;
  options.estimator = Estimator::kPath;
  options.draws = 10;
  options.antithetic = true;
  options.natural_mean = true;
  options.mean_rule = rule_defaults(RuleKind::kMomentum);
  options.mean_rule.step = .1;
  options.mean_rule.decay = .5;
  options.factor_rule = options.scale_rule = rule_defaults(RuleKind::kAdam);
  options.factor_rule.step = options.scale_rule.step = .03;
  options.decay = StepDecay::kCosine;
  options.max_iterations = 6000;
  return options;
}

void expect_recovered(const Target& target, const FitterResult& result, const char* label) {
  const Gaussian& q = result.posterior;
  Matrix sigma = q.factors() * q.factors().transpose();
  if (!q.is_dense()) sigma += Matrix(q.residual_sd().cwiseAbs2().asDiagonal());
  const Vector sd = target.covariance.diagonal().cwiseSqrt();
  EXPECT_LT((sigma - target.covariance).norm(), 1e-3 * target.covariance.norm()) << label;
  EXPECT_LT(((q.mean() - target.mean).array() / sd.array()).abs().maxCoeff(), 1e-3) << label;
  EXPECT_LT((q.sd().array() / sd.array() - 1).abs().maxCoeff(), 1e-3) << label;
}

// log h - log q is constant where q is the posterior: the ELBO of fresh draws is the log evidence, with a
// standard error that reflects what little is left.
void expect_elbo(const Model& model, const FitterResult& result, double log_evidence, const char* label) {
  constexpr Index kDraws = 1000;
  const Matrix theta = result.posterior.draws(kDraws, 99);
  Vector log_h(kDraws);
  Matrix gradient(theta.rows(), kDraws);
  const auto scratch = model.make_scratch(kDraws);
  Workers workers;
  Evaluation evaluation{*scratch, workers};
  model.evaluate(theta, log_h, gradient, evaluation);
  const Vector weight = log_h - result.posterior.log_density(theta);
  const double se = std::sqrt((weight.array() - weight.mean()).square().mean() / kDraws);
  // The ELBO is below the log evidence by KL, about half the variance of the weights.
  EXPECT_NEAR(weight.mean(), log_evidence, 5 * se + static_cast<double>(kDraws) * se * se + 1e-9) << label;
  EXPECT_LT(se, 1e-3) << label;
}

TEST(GaussianTarget, IsRecoveredByEveryFamilyThatContainsIt) {
  const Target target = two_factors(8);
  const auto model = test::gaussian_target(target.mean, target.covariance, -12.5);
  Whitening whitening{target.mean + target.covariance.diagonal().cwiseSqrt(),
                      target.covariance.diagonal().cwiseSqrt()};
  for (const auto& [kind, rank] :
       {std::pair{FamilyKind::kStiefel, 2}, std::pair{FamilyKind::kVafc, 2},
        std::pair{FamilyKind::kFixedRank, 2}, std::pair{FamilyKind::kFullRank, 0}}) {
    Fitter fitter(model, path_options(kind, rank), whitening, whitening.centre);
    const FitterResult result = fitter.run();
    expect_recovered(target, result, name(kind));
    expect_elbo(model, result, -12.5, name(kind));
  }
}

TEST(GaussianTarget, UnitFactorsAreRecoveredByGrassmann) {
  const Matrix b = random_point(ManifoldKind::kStiefel, 8, 2, 5);
  Target target{test::random_matrix(8, 1, 6), b * b.transpose()};
  target.covariance.diagonal().array() += .3;
  const auto model = test::gaussian_target(target.mean, target.covariance, 3);
  const FitterResult result = Fitter(model, path_options(FamilyKind::kGrassmann, 2)).run();
  expect_recovered(target, result, "grassmann");
  expect_elbo(model, result, 3, "grassmann");
}

TEST(GaussianTarget, IndependentCoordinatesAreRecoveredByMeanField) {
  Target target{test::random_matrix(8, 1, 6), Matrix(Vector::LinSpaced(8, .01, 4).asDiagonal())};
  const auto model = test::gaussian_target(target.mean, target.covariance, 0);
  const FitterResult result = Fitter(model, path_options(FamilyKind::kMeanField, 0)).run();
  expect_recovered(target, result, "mean-field");
  expect_elbo(model, result, 0, "mean-field");
}

}  // namespace
}  // namespace magva
