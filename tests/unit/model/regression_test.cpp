// Names, starting points, prediction, and what unusable data get.
#include "magva/regression.hpp"

#include <Eigen/Cholesky>
#include <cmath>

#include "magva/error.hpp"
#include "magva/predict.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

const std::vector<std::string> kNames{"(Intercept)", "age", "dose"};

RegressionData small_data(const Vector& response) {
  return {Design::own(random_design(response.size(), 3, 1)), response, {}, kNames};
}

TEST(Regression, NamesComeFromTheCoefficients) {
  const auto names = [](const Model& model) {
    std::vector<std::string> all;
    for (Index i = 0; i < model.dimension(); ++i) all.push_back(model.parameter_name(i));
    return all;
  };
  EXPECT_EQ(names(logistic_regression(small_data(zero_one(9, 2)))), kNames);
  EXPECT_EQ(names(linear_regression(small_data(zero_one(9, 2)))),
            (std::vector<std::string>{"(Intercept)", "age", "dose", "log_sigma"}));
  EXPECT_EQ(names(poisson_regression(small_data(zero_one(9, 2)), HorseshoeOptions{HorseshoeForm::centred})),
            (std::vector<std::string>{"(Intercept)", "age", "dose", "log_lambda[age]", "log_lambda[dose]",
                                      "log_tau"}));
  EXPECT_EQ(names(linear_regression(small_data(zero_one(9, 2)), HorseshoeOptions{})),
            (std::vector<std::string>{"(Intercept)", "xi[age]", "xi[dose]", "log_lambda[age]",
                                      "log_lambda[dose]", "log_tau", "log_sigma"}));
}

TEST(Regression, StartsAtTheInterceptOnlyFit) {
  Vector y(8);
  y << 0, 1, 1, 1, 0, 1, 1, 1;
  EXPECT_NEAR(logistic_regression(small_data(y)).start()(0), std::log(6.5 / 2.5), 1e-14);
  const Vector linear = linear_regression(small_data(y)).start();
  EXPECT_NEAR(linear(0), 0.75, 1e-14);
  EXPECT_NEAR(linear(3), 0.5 * std::log(0.75 * 0.25), 1e-14);
  EXPECT_NEAR(poisson_regression(small_data(y)).start()(0), std::log(6.5 / 8.5), 1e-14);
}

TEST(Regression, HorseshoeStartsWhereTheFormWants) {
  const RegressionData data{Design::own(random_design(38, 7130, 4)), zero_one(38, 5), {}, {}};
  const Vector centred = logistic_regression(data, HorseshoeOptions{HorseshoeForm::centred}).start();
  EXPECT_NEAR(centred(2 * 7129 + 1), std::log(19.0 / 7110.0 * 2.0 / std::sqrt(38.0)), 1e-12);
  EXPECT_EQ(logistic_regression(data, HorseshoeOptions{}).start()(2 * 7129 + 1), 0.0);
  HorseshoeOptions options;
  options.start_log_tau = -3.0;
  EXPECT_EQ(logistic_regression(data, options).start()(2 * 7129 + 1), -3.0);
}

TEST(Regression, NoncentredIsTheCentredPosteriorInOtherCoordinates) {
  const RegressionData data{Design::own(random_design(25, 14, 6)), zero_one(25, 7), {}, {}};
  const Regression centred = logistic_regression(data, HorseshoeOptions{HorseshoeForm::centred});
  const Regression noncentred = logistic_regression(data, HorseshoeOptions{HorseshoeForm::noncentred});
  const Vector theta = normal_matrix(centred.dimension(), 1, 8, 0.7).col(0);
  Vector moved = theta;
  noncentred.coefficients(theta, moved.head(14));
  // d beta / d xi = lambda tau: the densities differ by the logarithm of that Jacobian.
  const double jacobian = theta.segment(14, 13).sum() + 13.0 * theta(27);
  EXPECT_NEAR(evaluate(noncentred, theta).log_density(0), evaluate(centred, moved).log_density(0) + jacobian,
              1e-10);
}

TEST(Regression, LinearWithKnownNoiseHasTheClosedFormMode) {
  const RowMatrix x = random_design(40, 6, 9);
  const Vector y = normal_matrix(40, 1, 10).col(0);
  const double sigma = 0.8;
  LinearOptions options;
  options.noise_sd = sigma;
  const Regression model = linear_regression({Design::own(x), y, {}, {}}, NormalPriorOptions{4.0}, options);
  const Matrix precision = x.transpose() * x / (sigma * sigma) + Matrix::Identity(6, 6) / 4.0;
  const Vector mode = precision.ldlt().solve(x.transpose() * y / (sigma * sigma));
  EXPECT_LT(evaluate(model, mode).gradient.cwiseAbs().maxCoeff(), 1e-12);
}

TEST(Regression, DesignsOfAnySizeGiveThePlainGradient) {
  LinearOptions known;
  known.noise_sd = 1.0;
  for (const Index rows : {1'001, 10'001, 120'001}) {  // in a core's own cache, in the shared one, in memory
    const RowMatrix x = random_design(rows, 37, 40);
    const Vector y = normal_matrix(rows, 1, 41).col(0);
    const Regression model = linear_regression({Design::own(x), y, {}, {}}, NormalPriorOptions{4.0}, known);
    for (const Index draws : {1, 3, 9}) {
      const Matrix theta = normal_matrix(37, draws, 42);
      const Matrix plain = x.transpose() * (y.replicate(1, draws) - x * theta) - theta / 4.0;
      const Matrix ours = evaluate(model, theta).gradient;
      EXPECT_LT((ours - plain).cwiseAbs().maxCoeff(), 1e-12 * static_cast<double>(rows))
          << rows << ' ' << draws;
    }
  }
}

TEST(Regression, ViewsAndStridesGiveWhatOwnedDesignsGive) {
  const RowMatrix wide = random_design(30, 40, 11);
  const RowMatrix x = wide.leftCols(13);
  const Vector y = zero_one(30, 12);
  const Regression owned = logistic_regression({Design::own(x), y, {}, {}});
  const Regression viewed =
      logistic_regression({Design::view(DenseRows<double>{wide.data(), 30, 13, wide.cols()}), y, {}, {}});
  const Matrix theta = normal_matrix(13, 5, 13);
  EXPECT_EQ(evaluate(owned, theta).gradient, evaluate(viewed, theta).gradient);
}

TEST(Regression, RefusesDataThatCannotBe) {
  const Design design = Design::own(random_design(4, 2, 14));
  const Vector y = Vector::Ones(4);
  EXPECT_THROW(logistic_regression({design, Vector::Constant(4, 2.0), {}, {}}), DataError);
  EXPECT_THROW(poisson_regression({design, Vector::Constant(4, 0.5), {}, {}}), DataError);
  EXPECT_THROW(poisson_regression({design, Vector::Constant(4, -1.0), {}, {}}), DataError);
  EXPECT_THROW(linear_regression({design, Vector::Constant(4, INFINITY), {}, {}}), DataError);
  EXPECT_THROW(logistic_regression({design, Vector::Ones(3), {}, {}}), DataError);
  EXPECT_THROW(linear_regression({design, y, Vector::Ones(3), {}}), DataError);
  EXPECT_THROW(logistic_regression({design, y, -y, {}}), DataError);
  EXPECT_THROW(logistic_regression({design, y, 0.0 * y, {}}), DataError);
  EXPECT_THROW(logistic_regression({design, y, {}, {"one"}}), DataError);
  EXPECT_THROW(logistic_regression({design, y, {}, {}}, NormalPriorOptions{-1.0}), UsageError);
  EXPECT_THROW(Design::own(RowMatrix(RowMatrix::Constant(2, 2, NAN))), DataError);
  SparseMatrix sparse;
  sparse.cols = 2;
  sparse.columns = {2};
  sparse.values = {1.0};
  sparse.starts = {0, 1};
  EXPECT_THROW(Design::own(sparse), DataError);
}

TEST(Predict, MatchesPlainFormulas) {
  const RowMatrix x = random_design(35, 11, 15);
  const Vector y = counts(35, 16);
  const Regression model = poisson_regression({Design::own(x), y, {}, {}}, HorseshoeOptions{});
  const Matrix draws = normal_matrix(model.dimension(), 9, 17, 0.3);
  Matrix beta(11, 9);
  for (Index s = 0; s < 9; ++s) model.coefficients(draws.col(s), beta.col(s));
  const Matrix eta = x * beta;
  EXPECT_LT((linear_predictor(model, Design::own(x), draws) - eta).cwiseAbs().maxCoeff(), 1e-13);
  const Vector mean = eta.array().exp().rowwise().mean();
  EXPECT_LT((predictive_mean(model, Design::own(x), draws) - mean).cwiseAbs().maxCoeff(), 1e-12);
  const Vector score = log_predictive_density(model, Design::own(x), y, draws);
  for (Index i = 0; i < 35; ++i) {
    double average = 0.0;
    for (Index s = 0; s < 9; ++s)
      average += std::exp(y(i) * eta(i, s) - std::exp(eta(i, s)) - std::lgamma(y(i) + 1.0)) / 9.0;
    EXPECT_NEAR(score(i), std::log(average), 1e-12);
  }
}

TEST(Predict, SimulatedResponsesHaveTheRightMoments) {
  // 40,000 independent draws of y at one row: means and variances within 5 standard errors.
  const Design row = Design::own(RowMatrix(RowMatrix::Ones(1, 1)));
  const RegressionData data{row, Vector::Ones(1), {}, {}};
  const Index n = 40000;
  const auto moments = [&](const Regression& model, const Vector& theta) {
    const Vector y = simulate_response(model, row, theta.replicate(1, n), 3).row(0);
    const double mean = y.mean();
    return std::pair{mean, (y.array() - mean).square().mean()};
  };
  const double root = std::sqrt(static_cast<double>(n));
  const auto [poisson_mean, poisson_variance] = moments(poisson_regression(data), Vector::Constant(1, 1.2));
  const double rate = std::exp(1.2);
  EXPECT_NEAR(poisson_mean, rate, 5.0 * std::sqrt(rate) / root);
  EXPECT_NEAR(poisson_variance, rate, 5.0 * std::sqrt(rate + 2.0 * rate * rate) / root);
  const auto [linear_mean, linear_variance] = moments(linear_regression(data), Vector{{0.4, std::log(3.0)}});
  EXPECT_NEAR(linear_mean, 0.4, 5.0 * 3.0 / root);
  EXPECT_NEAR(linear_variance, 9.0, 5.0 * 9.0 * std::sqrt(2.0) / root);
  const auto [share, unused] = moments(logistic_regression(data), Vector::Constant(1, 0.7));
  const double p = 1.0 / (1.0 + std::exp(-0.7));
  EXPECT_NEAR(share, p, 5.0 * std::sqrt(p * (1.0 - p)) / root);
}

TEST(Predict, RefusesOtherColumnsAndOtherDraws) {
  const Regression model = logistic_regression(small_data(zero_one(9, 2)));
  EXPECT_THROW(predictive_mean(model, Design::own(random_design(4, 5, 1)), Matrix::Zero(3, 2)), DataError);
  EXPECT_THROW(predictive_mean(model, Design::own(random_design(4, 3, 1)), Matrix::Zero(2, 2)), UsageError);
}

}  // namespace
}  // namespace magva::testing
