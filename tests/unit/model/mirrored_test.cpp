// Draws in mirrored pairs share products with the design; log densities, the sum of the gradients and the
// pairs' differences are those of plain evaluation.
#include "algorithm1/fitter.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

constexpr Index kPairs = 4;

Matrix mirrored_draws(Index dimension, unsigned seed) {
  const Vector centre = normal_matrix(dimension, 1, seed, .3);
  const Matrix delta = normal_matrix(dimension, kPairs, seed + 1, .2);
  Matrix theta(dimension, 2 * kPairs);
  theta << delta.colwise() + centre, (-delta).colwise() + centre;
  return theta;
}

Evaluated evaluate_mirrored(const Model& model, ConstMatrixRef theta, int threads) {
  Workers workers(threads);
  const auto scratch = model.make_scratch(theta.cols());
  Evaluation evaluation{*scratch, workers, 0, true};
  Evaluated result{Vector(theta.cols()), Matrix(theta.rows(), theta.cols())};
  model.evaluate(theta, result.log_density, result.gradient, evaluation);
  return result;
}

void expect_agreement(const Model& model, const char* name) {
  const Matrix theta = mirrored_draws(model.dimension(), 5);
  const Evaluated plain = evaluate(model, theta);
  const Evaluated shared = evaluate_mirrored(model, theta, 1);
  const double size = plain.gradient.cwiseAbs().maxCoeff();
  const auto differences = [](const Matrix& g) { return g.leftCols(kPairs) - g.rightCols(kPairs); };
  EXPECT_LT((shared.log_density - plain.log_density).norm(), 1e-12 * plain.log_density.norm()) << name;
  EXPECT_LT((shared.gradient.rowwise().sum() - plain.gradient.rowwise().sum()).norm(), 1e-11 * size) << name;
  EXPECT_LT((differences(shared.gradient) - differences(plain.gradient)).norm(), 1e-11 * size) << name;
  const Evaluated threaded = evaluate_mirrored(model, theta, 2);
  EXPECT_EQ(threaded.gradient, shared.gradient) << name;
  EXPECT_EQ(threaded.log_density, shared.log_density) << name;
}

TEST(MirroredDraws, AgreeWithPlainEvaluation) {
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

/// Never shares anything, and has no finite density where the first coordinate is beyond `limit`.
class Plain final : public Model {
 public:
  Plain(const Model& model, double limit) : model_(model), limit_(limit) {}
  Index dimension() const override { return model_.dimension(); }
  std::unique_ptr<Scratch> make_scratch(Index draws) const override { return model_.make_scratch(draws); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    Evaluation plain{evaluation.scratch, evaluation.workers, evaluation.iteration};
    model_.evaluate(theta, log_density, gradient, plain);
    spoil(theta, log_density);
  }
  void spoil(ConstMatrixRef theta, VectorRef log_density) const {
    for (Index s = 0; s < theta.cols(); ++s)
      if (theta(0, s) > limit_) log_density(s) = std::numeric_limits<double>::quiet_NaN();
  }

 private:
  const Model& model_;
  double limit_;
};

/// The same with shared products.
class Shared final : public Model {
 public:
  Shared(const Model& model, double limit) : model_(model), plain_(model, limit) {}
  Index dimension() const override { return model_.dimension(); }
  std::unique_ptr<Scratch> make_scratch(Index draws) const override { return model_.make_scratch(draws); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    model_.evaluate(theta, log_density, gradient, evaluation);
    plain_.spoil(theta, log_density);
  }

 private:
  const Model& model_;
  Plain plain_;
};

TEST(MirroredDraws, GiveTheFitOfPlainOnesAlsoWhereDrawsAreRejected) {
  const RegressionData data{Design::own(random_design(200, 12, 1)), zero_one(200, 2), {}, {}};
  const Regression model = logistic_regression(data);
  for (const double limit : {std::numeric_limits<double>::infinity(), .8})
    for (const Estimator estimator : {Estimator::kEntropy, Estimator::kPath}) {
      FitterOptions options;
      options.draws = 2 * kPairs;
      options.antithetic = true;
      options.estimator = estimator;
      options.max_iterations = 50;
      const FitterResult plain = Fitter(Plain(model, limit), options).run();
      const FitterResult shared = Fitter(Shared(model, limit), options).run();
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
