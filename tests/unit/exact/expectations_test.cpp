// Expectations of regressions: every derivative against differences, against draws, and the same from any
// design and any number of threads.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>

#include <cmath>

#include "core/evaluator.hpp"
#include "exact/elbo.hpp"
#include "magva/posterior.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

using test::Kind;

struct Point {
  Vector mean;
  Matrix factors;
  Vector residual_sd;
};

Point any_point(const Model& model, Index rank) {
  const Index m = model.dimension();
  return {model.start() + .1 * test::normals(m, 1, 21).col(0), .15 * test::normals(m, rank, 22),
          .1 * test::normals(m, 1, 23).col(0).array().exp()};
}

double value_at(const Model& model, const Point& at) {
  Workers workers(1);
  const auto scratch = model.expectations()->make_scratch(at.factors.cols());
  Evaluation evaluation{*scratch, workers};
  Vector gradient(model.dimension());
  CurvatureProducts curvature;
  return model.expectations()->expect({at.mean, at.factors, at.residual_sd}, gradient, curvature, evaluation);
}

/// The difference quotient of the value by the number `x`, a part of `at`.
double quotient(const Model& model, Point& at, double& x) {
  const double h = 1e-4;
  const double before = x;
  x = before + h;
  const double above = value_at(model, at);
  x = before - h;
  const double below = value_at(model, at);
  x = before;
  return (above - below) / (2 * h);
}

// Every third row with three times its weight.
TEST(Expectations, ThinnedAreThoseOfARegressionOnTheseRows) {
  const RowMatrix x = test::design(32, 4, 3);
  const Vector weights = Vector::Ones(32) + .5 * test::normals(32, 1, 9).col(0).cwiseAbs();
  const RowMatrix some = x(Eigen::seqN(0, 10, 3), Eigen::all);
  for (const Kind kind : {Kind::logistic, Kind::poisson, Kind::known_noise}) {
    const Vector y = test::responses(kind, x, 5);
    const auto model = test::regression(kind, Design::own(x), y, NormalPriorOptions{}, weights);
    const auto by_hand = test::regression(kind, Design::own(some), y(Eigen::seqN(0, 10, 3)),
                                          NormalPriorOptions{}, 3 * weights(Eigen::seqN(0, 10, 3)));
    const auto thinned = model.expectations()->thinned(3);
    ASSERT_NE(thinned, nullptr);
    const Point at = any_point(model, 2);
    Workers workers(1);
    Matrix gradients(model.dimension(), 2);
    CurvatureProducts curvatures[2];
    const ExpectedLogDensity* densities[] = {thinned.get(), by_hand.expectations()};
    for (int k = 0; k < 2; ++k) {
      const auto scratch = densities[k]->make_scratch(2);
      Evaluation evaluation{*scratch, workers};
      densities[k]->expect({at.mean, at.factors, at.residual_sd}, gradients.col(k), curvatures[k],
                           evaluation);
    }
    EXPECT_LT((gradients.col(0) - gradients.col(1)).norm(), 1e-12 * gradients.col(1).norm());
    EXPECT_LT((curvatures[0].diagonal - curvatures[1].diagonal).norm(),
              1e-12 * curvatures[1].diagonal.norm());
  }
}

TEST(Expectations, DerivativesAreThoseOfTheValue) {
  for (const auto& [name, model] : test::all_models(20, 5)) {
    ASSERT_NE(model.expectations(), nullptr) << name;
    Point at = any_point(model, 2);
    Workers workers(1);
    const auto scratch = model.expectations()->make_scratch(2);
    Evaluation evaluation{*scratch, workers};
    Vector gradient(model.dimension());
    CurvatureProducts curvature;
    model.expectations()->expect({at.mean, at.factors, at.residual_sd}, gradient, curvature, evaluation);
    const double scale =
        1e-6 * (1 + gradient.cwiseAbs().maxCoeff() + curvature.diagonal.cwiseAbs().maxCoeff());
    for (Index i = 0; i < model.dimension(); ++i) {
      EXPECT_NEAR(gradient(i), quotient(model, at, at.mean(i)), scale) << name << " mean " << i;
      EXPECT_NEAR(-curvature.diagonal(i) * at.residual_sd(i), quotient(model, at, at.residual_sd(i)), scale)
          << name << " residual " << i;
      for (Index k = 0; k < 2; ++k)
        EXPECT_NEAR(-curvature.times_factors(i, k), quotient(model, at, at.factors(i, k)), scale)
            << name << " factor " << i << " " << k;
    }
  }
}

TEST(Expectations, DenseCurvatureAgreesWithProducts) {
  for (const auto& [name, model] : test::all_models(30, 6)) {
    const Point at = any_point(model, 3);
    Workers workers(1);
    const auto scratch = model.expectations()->make_scratch(3);
    Evaluation evaluation{*scratch, workers};
    Vector gradient(model.dimension()), same(model.dimension());
    CurvatureProducts products;
    Matrix dense;
    const double value =
        model.expectations()->expect({at.mean, at.factors, at.residual_sd}, gradient, products, evaluation);
    const double again =
        model.expectations()->expect({at.mean, at.factors, at.residual_sd}, same, dense, evaluation);
    EXPECT_NEAR(value, again, 1e-9 * std::abs(value)) << name;
    EXPECT_LT((gradient - same).norm(), 1e-9 * (1 + gradient.norm())) << name;
    EXPECT_LT((dense * at.factors - products.times_factors).norm(),
              1e-9 * (1 + products.times_factors.norm()))
        << name;
    EXPECT_LT((dense.diagonal() - products.diagonal).norm(), 1e-9 * (1 + products.diagonal.norm())) << name;
    EXPECT_EQ(dense, dense.transpose()) << name;
  }
}

// A Cholesky factor without residuals is the same Gaussian as its columns and residuals apart.
TEST(Expectations, FullRankIsTheSameGaussian) {
  for (const auto& [name, model] : test::all_models(30, 4)) {
    const Index m = model.dimension();
    const Point at = any_point(model, 2);
    Matrix covariance = at.factors * at.factors.transpose();
    covariance.diagonal() += at.residual_sd.cwiseAbs2();
    Workers workers(1);
    ExactElbo elbo(*model.expectations(), workers);
    const Gaussian q = Gaussian::low_rank(at.mean, at.factors, at.residual_sd);
    const Matrix root = covariance.llt().matrixL();
    const CurvedElbo low = elbo.low_rank(at.mean, at.factors, at.residual_sd);
    const CurvedElbo full = elbo.full_rank(at.mean, root, q.log_determinant());
    EXPECT_NEAR(low.elbo, full.elbo, 1e-9 * std::abs(low.elbo)) << name;
    EXPECT_LT((low.gradient - full.gradient).norm(), 1e-8 * (1 + low.gradient.norm())) << name;
    EXPECT_LT((low.curvature - full.curvature).norm(), 1e-8 * low.curvature.norm()) << name;
    EXPECT_EQ(low.curvature.rows(), m);
  }
}

// 4 standard errors of 20,000 draws.
TEST(Expectations, AgreeWithDraws) {
  for (const auto& [name, model] : test::all_models(25, 4)) {
    const Point at = any_point(model, 2);
    const Matrix theta = Gaussian::low_rank(at.mean, at.factors, at.residual_sd).draws(20'000, 7);
    Evaluator evaluator(model, 1);
    Vector log_density(theta.cols());
    Matrix gradient(model.dimension(), theta.cols());
    evaluator.evaluate(theta, log_density, gradient);
    const double mean = log_density.mean();
    const double se =
        std::sqrt((log_density.array() - mean).square().mean() / static_cast<double>(theta.cols()));
    EXPECT_NEAR(value_at(model, at), mean, 4 * se) << name;
  }
}

// -Hessian at a point against differences of the model's own gradients.
TEST(Expectations, CurvatureAtAPointIsTheHessian) {
  for (const auto& [name, model] : test::all_models(25, 4)) {
    const Vector theta = any_point(model, 0).mean;
    Workers workers(1);
    ExactElbo elbo(*model.expectations(), workers);
    const CurvedElbo point = elbo.point(theta);
    Evaluator evaluator(model, 1);
    Vector above(theta.size()), below(theta.size());
    EXPECT_NEAR(point.elbo, evaluator.evaluate(theta, above), 1e-9 * std::abs(point.elbo)) << name;
    EXPECT_LT((point.gradient - above).norm(), 1e-8 * (1 + above.norm())) << name;
    for (Index i = 0; i < theta.size(); ++i) {
      Vector moved = theta;
      moved(i) = theta(i) + 1e-5;
      evaluator.evaluate(moved, above);
      moved(i) = theta(i) - 1e-5;
      evaluator.evaluate(moved, below);
      const Vector column = (below - above) / 2e-5;
      EXPECT_LT((point.curvature.col(i) - column).norm(), 1e-5 * (1 + column.norm())) << name << " " << i;
    }
  }
}

TEST(Expectations, SameBitsForAnyNumberOfThreads) {
  const RowMatrix x = test::design(6000, 50, 4);  // several lanes
  const Regression model = test::regression(Kind::logistic, Design::own(x),
                                            test::responses(Kind::logistic, x, 6), NormalPriorOptions{});
  const Point at = any_point(model, 3);
  std::vector<Vector> gradients;
  std::vector<Matrix> curvatures;
  std::vector<double> values;
  for (const int threads : {1, 2, 4}) {
    Workers workers(threads);
    ExactElbo elbo(*model.expectations(), workers);
    LowRankDerivatives derivatives;
    values.push_back(elbo.low_rank(at.mean, at.factors, at.residual_sd, derivatives));
    gradients.push_back(derivatives.mean);
    curvatures.push_back(derivatives.factors);
    CurvedElbo curved = elbo.low_rank(at.mean, at.factors, at.residual_sd);
    EXPECT_EQ(curved.curvature, elbo.low_rank(at.mean, at.factors, at.residual_sd).curvature);
    values.push_back(curved.elbo);
    gradients.push_back(curved.gradient);
    curvatures.push_back(std::move(curved.curvature));
  }
  for (std::size_t k = 2; k < values.size(); ++k) {
    EXPECT_EQ(values[k], values[k % 2]);
    EXPECT_EQ(gradients[k], gradients[k % 2]);
    EXPECT_EQ(curvatures[k], curvatures[k % 2]);
  }
}

SparseMatrix sparse(const RowMatrix& x) {
  SparseMatrix out;
  out.cols = x.cols();
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) {
      if (x(i, j) == 0) continue;
      out.columns.push_back(static_cast<std::int32_t>(j));
      out.values.push_back(x(i, j));
    }
    out.starts.push_back(static_cast<std::int64_t>(out.values.size()));
  }
  return out;
}

TEST(Expectations, AnyDesignGivesTheSame) {
  RowMatrix x = test::design(203, 11, 4);
  x = (x.array().abs() < .6).select(0, x);
  x.col(0).setOnes();
  const Vector y = test::responses(Kind::poisson, x, 6);
  const auto make = [&](Design design) {
    return test::regression(Kind::poisson, std::move(design), y, NormalPriorOptions{});
  };
  const Regression dense = make(Design::own(x));
  const Point at = any_point(dense, 3);
  Workers workers(1);
  ExactElbo reference(*dense.expectations(), workers);
  const CurvedElbo expected = reference.low_rank(at.mean, at.factors, at.residual_sd);
  const Matrix root = Matrix((.1 * test::normals(11, 11, 8)).triangularView<Eigen::Lower>());
  const CurvedElbo full = reference.full_rank(at.mean, root, 0);
  LowRankDerivatives derivatives, others;
  reference.low_rank(at.mean, at.factors, at.residual_sd, derivatives);
  for (const Regression& model :
       {make(Design::own(SingleRowMatrix(x.cast<float>()))), make(Design::own(sparse(x)))}) {
    ExactElbo elbo(*model.expectations(), workers);
    const CurvedElbo found = elbo.low_rank(at.mean, at.factors, at.residual_sd);
    EXPECT_NEAR(found.elbo, expected.elbo, 1e-10 * std::abs(expected.elbo));
    EXPECT_LT((found.curvature - expected.curvature).norm(), 1e-10 * expected.curvature.norm());
    EXPECT_LT((elbo.full_rank(at.mean, root, 0).curvature - full.curvature).norm(),
              1e-10 * full.curvature.norm());
    elbo.low_rank(at.mean, at.factors, at.residual_sd, others);
    EXPECT_LT((others.mean - derivatives.mean).norm(), 1e-10 * derivatives.mean.norm());
    EXPECT_LT((others.factors - derivatives.factors).norm(), 1e-10 * derivatives.factors.norm());
    EXPECT_LT((others.residual_sd - derivatives.residual_sd).norm(), 1e-10 * derivatives.residual_sd.norm());
  }
}

TEST(Expectations, AreUnknownToOtherModels) {
  const RowMatrix x = test::design(20, 3, 4);
  const Vector y = test::responses(Kind::logistic, x, 6);
  EXPECT_EQ(test::regression(Kind::logistic, Design::own(x), y, HorseshoeOptions{}).expectations(), nullptr);
  EXPECT_EQ(test::regression(Kind::logistic, Design::own(x), y, AutoregressivePriorOptions{}).expectations(),
            nullptr);
}

}  // namespace
}  // namespace magva
