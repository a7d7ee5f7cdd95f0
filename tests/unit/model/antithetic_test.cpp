// Draws in antithetic pairs share products with the design; log densities, the mean of the gradients and the
// pairs' half-differences are those of plain evaluation.
#include "algorithm1/fitter.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

constexpr Index kPairs = 4;

Matrix antithetic_draws(Index dimension, unsigned seed) {
  const Vector centre = normal_matrix(dimension, 1, seed, .3);
  const Matrix delta = normal_matrix(dimension, kPairs, seed + 1, .2);
  Matrix theta(dimension, 2 * kPairs);
  theta << delta.colwise() + centre, (-delta).colwise() + centre;
  return theta;
}

Evaluated evaluate_antithetic(const Model& model, ConstMatrixRef theta, int threads) {
  Workers workers(threads);
  const auto scratch = model.make_scratch(theta.cols());
  Evaluation evaluation{*scratch, workers};
  Vector log_density(theta.cols());
  Matrix gradient(theta.rows(), theta.cols());
  model.evaluate_antithetic(theta, log_density, gradient, evaluation);
  return {log_density, gradient.leftCols(theta.cols() / 2 + 1)};
}

void expect_agreement(const Model& model, const char* name) {
  const Matrix theta = antithetic_draws(model.dimension(), 5);
  const Evaluated plain = evaluate(model, theta);
  const Evaluated shared = evaluate_antithetic(model, theta, 1);
  const double size = plain.gradient.cwiseAbs().maxCoeff();
  const Matrix half_differences = .5 * (plain.gradient.leftCols(kPairs) - plain.gradient.rightCols(kPairs));
  EXPECT_LT((shared.log_density - plain.log_density).norm(), 1e-12 * plain.log_density.norm()) << name;
  EXPECT_LT((shared.gradient.col(kPairs) - plain.gradient.rowwise().mean()).norm(), 1e-12 * size) << name;
  EXPECT_LT((shared.gradient.leftCols(kPairs) - half_differences).norm(), 1e-11 * size) << name;
  const Evaluated threaded = evaluate_antithetic(model, theta, 2);
  EXPECT_EQ(threaded.gradient, shared.gradient) << name;
  EXPECT_EQ(threaded.log_density, shared.log_density) << name;
}

TEST(AntitheticDraws, AgreeWithPlainEvaluation) {
  const Index n = 5003;
  const RowMatrix x = random_design(n, 29, 1);
  const RegressionData binary{Design::own(x), zero_one(n, 2), {}, {}};
  const RegressionData count{Design::own(x), counts(n, 2), {}, {}};
  const RegressionData weighted{Design::own(x), zero_one(n, 2), normal_matrix(n, 1, 3).cwiseAbs(), {}};
  const RegressionData sparse{Design::own(to_sparse(x)), zero_one(n, 2), {}, {}};
  expect_agreement(logistic_regression(binary), "logistic");
  expect_agreement(logistic_regression(weighted), "weighted");
  expect_agreement(logistic_regression(sparse), "sparse");
  expect_agreement(poisson_regression(count), "Poisson");
  expect_agreement(linear_regression(count), "linear");
  expect_agreement(logistic_regression(binary, AutoregressivePriorOptions{}), "autoregressive");
  expect_agreement(logistic_regression(binary, HorseshoeOptions{HorseshoeForm::centred}), "centred");
  expect_agreement(logistic_regression(binary, HorseshoeOptions{}), "non-centred, nothing shared");
}

/// Has no finite density where the first coordinate is beyond `limit`.
class Limited : public Model {
 public:
  Limited(const Model& model, double limit) : model_(model), limit_(limit) {}
  Index dimension() const override { return model_.dimension(); }
  std::unique_ptr<Scratch> make_scratch(Index draws) const override { return model_.make_scratch(draws); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    model_.evaluate(theta, log_density, gradient, evaluation);
    spoil(theta, log_density);
  }

 protected:
  void spoil(ConstMatrixRef theta, VectorRef log_density) const {
    for (Index s = 0; s < theta.cols(); ++s)
      if (theta(0, s) > limit_) log_density(s) = std::numeric_limits<double>::quiet_NaN();
  }
  const Model& model_;

 private:
  double limit_;
};

/// The same with shared products.
class SharedAndLimited final : public Limited {
 public:
  using Limited::Limited;
  void evaluate_antithetic(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                           Evaluation& evaluation) const override {
    model_.evaluate_antithetic(theta, log_density, gradient, evaluation);
    spoil(theta, log_density);
  }
};

TEST(AntitheticDraws, WithoutSharedWorkAreThoseOfPlainEvaluation) {
  const Regression model =
      logistic_regression({Design::own(random_design(50, 6, 1)), zero_one(50, 2), {}, {}});
  expect_agreement(Limited(model, std::numeric_limits<double>::infinity()), "not shared");
}

TEST(AntitheticDraws, GiveTheFitOfPlainOnesAlsoWhereDrawsAreRejected) {
  const RegressionData data{Design::own(random_design(200, 12, 1)), zero_one(200, 2), {}, {}};
  const Regression model = logistic_regression(data);
  for (const double limit : {std::numeric_limits<double>::infinity(), .8})
    for (const Estimator estimator : {Estimator::kEntropy, Estimator::kPath}) {
      FitterOptions options;
      options.draws = 2 * kPairs;
      options.antithetic = true;
      options.estimator = estimator;
      options.max_iterations = 50;
      const FitterResult plain = Fitter(Limited(model, limit), options).run();
      const FitterResult shared = Fitter(SharedAndLimited(model, limit), options).run();
      EXPECT_EQ(shared.rejected_draws, plain.rejected_draws);
      EXPECT_EQ(plain.rejected_draws > 0, std::isfinite(limit));
      EXPECT_LT((shared.posterior.mean() - plain.posterior.mean()).norm(), 1e-9);
      EXPECT_LT((shared.posterior.sd() - plain.posterior.sd()).norm(), 1e-9);
    }
}

/// log(1 + exp(-|eta|)) is summed as the logarithm of a product where rows have no weights.
TEST(BernoulliProduct, IsTheWeightedSumForAnyPredictors) {
  const Index n = 40'000;  // factors of 2 would overflow after a fifth of them
  for (const double scale : {0., 1e-9, 1., 40., 900.}) {
    RowMatrix x = scale * normal_matrix(n, 1, 4);
    const Vector y = zero_one(n, 5);
    const Regression unweighted = logistic_regression({Design::own(x), y, {}, {}});
    const Regression weighted = logistic_regression({Design::own(x), y, Vector::Ones(n), {}});
    const Matrix theta = Matrix::Ones(1, 1);
    const Evaluated product = evaluate(unweighted, theta);
    const Evaluated sum = evaluate(weighted, theta);
    EXPECT_NEAR(product.log_density(0), sum.log_density(0), 1e-12 * std::abs(sum.log_density(0))) << scale;
    EXPECT_NEAR(product.gradient(0), sum.gradient(0), 1e-12 * (1 + x.cwiseAbs().sum())) << scale;
  }
}

}  // namespace
}  // namespace magva::testing
