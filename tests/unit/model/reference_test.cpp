// Densities, gradients and a design computed by an implementation that shares no code with this one.
#include "magva/regression.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

void expect_reference(const Model& model, const nlohmann::json& expected, double tolerance) {
  const Evaluated found = evaluate(model, to_vector(expected["theta"]));
  EXPECT_NEAR(found.log_density(0), expected["log_h"].get<double>(), 1e-11 * 100.0);
  const Vector gradient = to_vector(expected["grad_log_h"]);
  ASSERT_EQ(found.gradient.rows(), gradient.size());
  for (Index i = 0; i < gradient.size(); ++i) EXPECT_NEAR(found.gradient(i, 0), gradient(i), tolerance) << i;
}

nlohmann::json model_named(const std::string& name) {
  for (const auto& entry : read_json("model_densities.json"))
    if (entry["model"] == name) return entry;
  throw std::runtime_error("no reference named " + name);
}

TEST(Reference, Pspline) {
  const nlohmann::json expected = model_named("pspline");
  PsplineOptions options;
  options.functions = expected["k"];
  options.degree = expected["degree"];
  options.lower = 0.0;
  options.upper = 1.0;
  options.prior.a_tau = expected["a_tau"];
  options.prior.b_tau = expected["b_tau"];
  options.noise.alpha0 = expected["alpha0"];
  options.noise.beta0 = expected["beta0"];
  const Pspline pspline =
      pspline_regression(to_vector(expected["x"]), to_vector(expected["y"]), Vector(), options);
  expect_reference(pspline.model, expected, expected["gradient_tolerance"]);
}

TEST(Reference, PsplineDefaultsAreThoseOfTheReference) {
  const nlohmann::json expected = model_named("pspline");
  const PsplineOptions defaults;
  EXPECT_EQ(defaults.functions, expected["k"]);
  EXPECT_EQ(defaults.prior.a_tau, expected["a_tau"]);
  EXPECT_EQ(defaults.prior.b_tau, expected["b_tau"]);
  EXPECT_EQ(defaults.noise.alpha0, expected["alpha0"]);
  EXPECT_EQ(defaults.noise.beta0, expected["beta0"]);
}

TEST(Reference, BSplineDesignAndKnots) {
  const nlohmann::json expected = model_named("pspline");
  const BSplineBasis basis(25, 3, 0.0, 1.0);
  const RowMatrix design = to_matrix(expected["design"]);
  EXPECT_LT((basis(to_vector(expected["x"])) - design).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_LT((basis.knots() - to_vector(expected["knots"])).cwiseAbs().maxCoeff(), 1e-15);
}

/// Responses in the reference are -1 and 1; the design there has no column for the intercept.
Vector to_zero_one(const nlohmann::json& y) { return (to_vector(y).array() + 1.0) / 2.0; }

TEST(Reference, CentredHorseshoe) {
  const nlohmann::json expected = model_named("logistic with horseshoe prior, centred");
  const RowMatrix covariates = to_matrix(expected["X"]);
  RowMatrix design(covariates.rows(), covariates.cols() + 1);
  design << Vector::Ones(covariates.rows()), covariates;
  HorseshoeOptions prior;
  prior.form = HorseshoeForm::centred;
  prior.intercept_variance = expected["intercept_prior_variance"];
  const Regression model =
      logistic_regression({Design::own(design), to_zero_one(expected["y"]), {}, {}}, prior);
  expect_reference(model, expected, expected["gradient_tolerance"]);
}

TEST(Reference, LogisticWithNormalPrior) {
  const auto families = read_json("elbo_gradients.json");
  ASSERT_GE(families.size(), 3u);
  for (const auto& expected : families) {
    const Regression model =
        logistic_regression({Design::own(to_matrix(expected["X"])), to_zero_one(expected["y"]), {}, {}},
                            NormalPriorOptions{expected["prior_variance"].get<double>()});
    expect_reference(model, expected, 1e-12);
  }
}

}  // namespace
}  // namespace magva::testing
