// Ordered and categorical regressions: probabilities against R's, gradients against finite differences.
#include "magva/class_regression.hpp"

#include <cmath>

#include "magva/check_gradient.hpp"
#include "magva/error.hpp"
#include "magva/priors.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

RegressionData class_data(Index rows, Index cols, Index classes) {
  RegressionData data{Design::own(random_design(rows, cols, 5)),
                      Vector(rows),
                      normal_matrix(rows, 1, 6).col(0).cwiseAbs(),
                      {}};
  for (Index i = 0; i < rows; ++i) data.response(i) = static_cast<double>((i * 7 + i / 3) % classes);
  data.offset = normal_matrix(rows, 1, 7, .3).col(0);
  return data;
}

std::shared_ptr<const CoefficientPrior> class_prior(Index cols) {
  return make_prior({{0, 1, NormalBlock{Vector::Zero(1), Vector::Constant(1, 2)}},
                     {1, cols - 1, HorseshoeBlock{.7, 2.0, 4}}},
                    cols);
}

TEST(ClassRegressions, GradientsAreTheDerivatives) {
  for (const Index classes : {2, 3, 5}) {
    const ClassRegression ordered = ordered_regression(class_data(37, 4, classes), classes, class_prior(4));
    const ClassRegression categorical =
        categorical_regression(class_data(37, 4, classes), classes, class_prior(4));
    for (const ClassRegression* model : {&ordered, &categorical})
      for (unsigned seed = 0; seed < 2; ++seed) {
        const Vector theta = model->start() + normal_matrix(model->dimension(), 1, 20 + seed, .5).col(0);
        const GradientCheck check = check_gradient(*model, theta);
        EXPECT_TRUE(check.passed) << check.sentence;
      }
  }
}

/// Three rows, one predictor x = 1, no offset.
RegressionData three_rows() {
  RegressionData data{Design::own(RowMatrix(RowMatrix::Ones(3, 1))), Vector(3), {}, {}};
  data.response << 0, 1, 2;
  return data;
}

std::shared_ptr<const CoefficientPrior> standard_normal() {
  return make_prior({{0, 1, NormalBlock{Vector::Zero(1), Vector::Ones(1)}}}, 1);
}

// log(plogis(-.3 - .4)) + log(plogis(.9 - .4) - plogis(-.3 - .4)) + log(1 - plogis(.9 - .4)) + dnorm(.4, log
// = TRUE) +
//   sum(dt(c(-.3, .9) / 2.5, 3, log = TRUE) - log(2.5)) + log(2) + log(1.2)
TEST(ClassRegressions, OrderedDensityIsRs) {
  const ClassRegression model = ordered_regression(three_rows(), 3, standard_normal());
  Vector theta(3);
  theta << .4, -.3, std::log(1.2);
  EXPECT_NEAR(evaluate(model, theta).log_density(0), -7.36490030068176, 1e-12);
  const Matrix p = model.probabilities(Design::own(RowMatrix(RowMatrix::Ones(1, 1))), Vector(), theta);
  EXPECT_NEAR(p(0, 0), 1 / (1 + std::exp(.7)), 1e-14);
  EXPECT_NEAR(p.sum(), 1, 1e-14);
  EXPECT_EQ(model.parameter_name(1), "cut[1]");
  EXPECT_EQ(model.parameter_name(2), "log_gap[2]");
  EXPECT_NEAR(model.cut_points(theta)(1), .9, 1e-15);
}

// eta <- c(0, .4, -.2); sum(eta - log(sum(exp(eta)))) + sum(dnorm(c(.4, -.2), log = TRUE))
TEST(ClassRegressions, CategoricalDensityIsRs) {
  const ClassRegression model = categorical_regression(three_rows(), 3, standard_normal());
  Vector theta(2);
  theta << .4, -.2;
  EXPECT_NEAR(evaluate(model, theta).log_density(0), -5.32922502199566, 1e-12);
  const Matrix p = model.probabilities(Design::own(RowMatrix(RowMatrix::Ones(1, 1))), Vector(), theta);
  EXPECT_NEAR(p.sum(), 1, 1e-14);
  EXPECT_NEAR(std::log(p(0, 1) / p(0, 0)), .4, 1e-14);
  EXPECT_EQ(model.parameter_name(1), "beta[1][2]");
}

// Two classes are a logistic regression, whichever way.
TEST(ClassRegressions, TwoClassesAreLogisticRegression) {
  RegressionData data = class_data(50, 3, 2);
  const auto prior = make_prior(NormalPriorOptions{}, 3);
  const ClassRegression categorical = categorical_regression(data, 2, prior);
  const Regression logistic(data, bernoulli_logit(), prior);
  const Matrix theta = normal_matrix(3, 5, 8, .6);
  const Evaluated a = evaluate(categorical, theta);
  const Evaluated b = evaluate(logistic, theta);
  EXPECT_LT((a.log_density - b.log_density).cwiseAbs().maxCoeff(), 1e-11);
  EXPECT_LT((a.gradient - b.gradient).cwiseAbs().maxCoeff(), 1e-11);
}

TEST(ClassRegressions, SameBitsForAnyNumberOfThreadsAndDraws) {
  const ClassRegression model = ordered_regression(class_data(4001, 40, 4), 4, class_prior(40));
  const Matrix theta = normal_matrix(model.dimension(), 5, 9, .2);
  const Evaluated one = evaluate(model, theta, 1);
  const Evaluated three = evaluate(model, theta, 3);
  EXPECT_EQ(one.log_density, three.log_density);
  EXPECT_EQ(one.gradient, three.gradient);
}

TEST(ClassRegressions, DataThatDoNotFitAreRefused) {
  RegressionData data = three_rows();
  EXPECT_THROW(ordered_regression(data, 2, standard_normal()), DataError);
  EXPECT_THROW(ordered_regression(data, 1, standard_normal()), UsageError);
  data.response(0) = .5;
  EXPECT_THROW(categorical_regression(data, 3, standard_normal()), DataError);
  data = three_rows();
  data.trials = Vector::Ones(3);
  EXPECT_THROW(categorical_regression(data, 3, standard_normal()), DataError);
}

}  // namespace
}  // namespace magva::testing
