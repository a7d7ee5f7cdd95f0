// Linear predictors far outside of what exp can hold.
#include <cmath>
#include <limits>

#include "magva/check_gradient.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

/// One row with covariate 1 only, and a prior so wide that its gradient does not show.
Regression one_row(std::shared_ptr<const Likelihood> likelihood, double y) {
  return {{Design::own(RowMatrix(RowMatrix::Ones(1, 1))), Vector::Constant(1, y), {}, {}},
          std::move(likelihood),
          make_prior(NormalPriorOptions{1e300}, 1)};
}

double prior_part(double eta) {
  return -0.5 * std::log(2.0 * M_PI) - 0.5 * std::log(1e300) - 0.5 * eta * eta / 1e300;
}

TEST(ExtremeEta, LogisticIsExactInBothTails) {
  for (const double eta : {-1e4, -800.0, -40.0, -1.0, -1e-9, 0.0, 1e-9, 1.0, 40.0, 800.0, 1e4}) {
    for (const double y : {0.0, 1.0}) {
      const Evaluated found = evaluate(one_row(bernoulli_logit(), y), Vector::Constant(1, eta));
      const double margin = y == 1.0 ? eta : -eta;  // log p = -log(1 + exp(-margin))
      const long double m = margin;
      const double log_p =
          static_cast<double>(m > 0 ? -std::log1p(std::exp(-m)) : m - std::log1p(std::exp(m)));
      const double slope =
          static_cast<double>(m > 0 ? std::exp(-m) / (1 + std::exp(-m)) : 1 / (1 + std::exp(m)));
      EXPECT_NEAR(found.log_density(0) - prior_part(eta), log_p, 1e-13 * (300.0 + std::abs(log_p))) << eta;
      EXPECT_NEAR(found.gradient(0, 0), y == 1.0 ? slope : -slope, 1e-15) << eta;
    }
  }
}

TEST(ExtremeEta, PoissonOverflowIsMinusInfinityAndUnderflowIsExact) {
  const Regression model = one_row(poisson_log(), 3.0);
  for (const double eta : {701.0, 1e4, 1e300}) {
    EXPECT_EQ(evaluate(model, Vector::Constant(1, eta)).log_density(0),
              -std::numeric_limits<double>::infinity());
  }
  const Evaluated low = evaluate(model, Vector::Constant(1, -1e4));
  EXPECT_NEAR(low.log_density(0) - prior_part(-1e4), -3e4 - std::lgamma(4.0), 1e-8);
  EXPECT_NEAR(low.gradient(0, 0), 3.0, 1e-15);
  const Evaluated high = evaluate(model, Vector::Constant(1, 600.0));
  EXPECT_NEAR(high.log_density(0) / std::exp(600.0), -1.0, 1e-13);
}

TEST(ExtremeEta, RobustLikelihoodPrefersTheWideComponentFarOut) {
  const Regression model = one_row(outlier_mixture({}), 0.0);
  for (const double eta : {1e2, 1e4, 1e8}) {
    Vector theta(2);
    theta << eta, 0.0;
    const Evaluated found = evaluate(model, theta);
    const double log_p = std::log(0.05) - 0.5 * std::log(20.0 * M_PI) - eta * eta / 20.0;
    const double log_sigma_prior = 0.01 * std::log(0.01) - std::lgamma(0.01) - 0.01;
    EXPECT_NEAR((found.log_density(0) - prior_part(eta) - log_sigma_prior) / log_p, 1.0, 1e-13);
    EXPECT_NEAR(found.gradient(0, 0) / (-eta / 10.0), 1.0, 1e-13);
  }
}

TEST(ExtremeEta, GradientsHoldAtLargeEta) {
  // Covariates of several hundred: |eta| reaches 10^4.
  const RowMatrix x = random_design(40, 12, 31) * 400.0;
  RowMatrix design = x;
  design.col(0).setOnes();
  const Regression logistic = logistic_regression({Design::own(design), zero_one(40, 32), {}, {}});
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Vector theta = normal_matrix(12, 1, 40 + seed, 3.0).col(0);
    EXPECT_GT((design * theta).cwiseAbs().maxCoeff(), 3e3);
    const GradientCheck check = check_gradient(logistic, theta);
    EXPECT_TRUE(check.passed) << check.sentence;
  }
}

TEST(ExtremeEta, HorseshoeScalesOverManyOrders) {
  for (const HorseshoeForm form : {HorseshoeForm::centred, HorseshoeForm::noncentred}) {
    HorseshoeOptions prior;
    prior.form = form;
    const Regression model =
        logistic_regression({Design::own(random_design(20, 4, 33)), zero_one(20, 34), {}, {}}, prior);
    Vector theta(model.dimension());
    theta << 0.2, 1e-3, -2e-4, 3e-4, -7.0, 0.0, 5.0, -3.0;
    const GradientCheck check = check_gradient(model, theta);
    EXPECT_TRUE(check.passed) << check.sentence;
    theta(4) = 300.0;
    EXPECT_TRUE(std::isfinite(evaluate(model, theta.head(model.dimension())).gradient(4, 0)));
  }
}

}  // namespace
}  // namespace magva::testing
