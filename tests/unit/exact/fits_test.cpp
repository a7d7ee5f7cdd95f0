// Fits without noise: against closed forms, and against what their equations say of an optimum.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>
#include <numbers>

#include "exact/local_maxima.hpp"
#include "exact/low_rank.hpp"
#include "exact/newton.hpp"
#include "exact/quadratic_steps.hpp"
#include "magva/posterior.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

using test::Kind;

Regression problem(Kind kind, Index rows, Index cols, std::uint64_t seed) {
  const RowMatrix x = test::design(rows, cols, seed);
  return test::regression(kind, Design::own(x), test::responses(kind, x, seed + 1), NormalPriorOptions{});
}

// With known noise the posterior is a Gaussian, and the ELBO of the best one is log p(y).
TEST(ExactFullRank, FindsAGaussianPosterior) {
  const RowMatrix x = test::design(60, 7, 2);
  const Vector y = test::responses(Kind::known_noise, x, 3);
  const Regression model = test::regression(Kind::known_noise, Design::own(x), y, NormalPriorOptions{});
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const FullRankFit fit = fit_full_rank(elbo, model.start(), test::kGoOn);
  Matrix precision = x.transpose() * x / .49;
  precision.diagonal().array() += .1;
  Matrix marginal = 10 * x * x.transpose();
  marginal.diagonal().array() += .49;
  const Eigen::LLT<Matrix> llt(marginal);
  const double evidence = -.5 * y.dot(llt.solve(y)) - Vector(llt.matrixLLT().diagonal()).array().log().sum() -
                          30 * std::log(2 * std::numbers::pi);
  EXPECT_TRUE(fit.stop.converged);
  EXPECT_NEAR(fit.elbo, evidence, 1e-8 * std::abs(evidence));
  EXPECT_LT((fit.mean - precision.llt().solve(Vector(x.transpose() * y / .49))).norm(), 1e-8);
  EXPECT_LT((fit.root * fit.root.transpose() * precision - Matrix::Identity(7, 7)).norm(), 1e-8);
}

// E[gradient] = 0 and Sigma^-1 = E[-Hessian], up to the gain that is promised.
TEST(ExactFullRank, SolvesTheEquationsOfAnOptimum) {
  for (const Kind kind : {Kind::logistic, Kind::poisson, Kind::unknown_noise}) {
    const Regression model = problem(kind, 80, 8, 4);
    Workers workers(1);
    ExactElbo elbo(*model.expectations(), workers);
    const FullRankFit fit = fit_full_rank(elbo, model.start(), test::kGoOn);
    ASSERT_TRUE(fit.stop.converged);
    const double log_determinant = 2 * fit.root.diagonal().array().abs().log().sum();
    const CurvedElbo at = elbo.full_rank(fit.mean, fit.root, log_determinant);
    EXPECT_NEAR(at.elbo, fit.elbo, 1e-13 * std::abs(fit.elbo));  // log determinants of a root and its inverse
    EXPECT_LT((fit.root.transpose() * at.gradient).norm(), .02);
    EXPECT_LT(
        (fit.root.transpose() * at.curvature * fit.root - Matrix::Identity(fit.mean.size(), fit.mean.size()))
            .norm(),
        .03);
  }
}

// So many rows that a fit to some of them comes first: few passes over all of them are left, and the optimum
// is that of all.
TEST(ExactFullRank, StartsFromSomeOfManyRows) {
  for (const Kind kind : {Kind::logistic, Kind::poisson}) {
    const Regression model = problem(kind, 40'000, 4, 6);
    Workers workers(1);
    ExactElbo elbo(*model.expectations(), workers);
    const FullRankFit fit = fit_full_rank(elbo, model.start(), test::kGoOn);
    ASSERT_TRUE(fit.stop.converged);
    EXPECT_LE(elbo.passes(), 4);
    EXPECT_LT((fit.root.transpose() * elbo.full_rank(fit.mean, fit.root, 0).gradient).norm(), .02);
    ExactElbo at_mode(*model.expectations(), workers);
    const ModePoint mode = newton_mode(at_mode, model.start(), test::kGoOn);
    EXPECT_TRUE(mode.converged);
    EXPECT_LE(at_mode.passes(), 4);
    EXPECT_LT((fit.root.transpose() * at_mode.point(mode.mean).gradient).norm(), .05);
  }
}

// The log density is concave, and so is the ELBO: no Gaussian nearby is better.
TEST(ExactFullRank, IsBetterThanItsNeighbours) {
  const Regression model = problem(Kind::logistic, 50, 5, 8);
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const FullRankFit fit = fit_full_rank(elbo, model.start(), test::kGoOn);
  for (std::uint64_t k = 0; k < 20; ++k) {
    const Matrix noise = test::normals(5, 6, 100 + k);
    const Matrix root = fit.root + .1 * fit.root * noise.leftCols(5);
    const double log_determinant = 2 * std::log(std::abs(root.determinant()));
    EXPECT_LT(elbo.full_rank(fit.mean + .1 * fit.root * noise.col(5), root, log_determinant).elbo, fit.elbo);
  }
}

TEST(ExactFits, NeverFall) {
  for (const Kind kind : {Kind::logistic, Kind::poisson}) {
    const Regression model = problem(kind, 60, 12, 5);
    Workers workers(1);
    ExactElbo elbo(*model.expectations(), workers);
    double last = -std::numeric_limits<double>::infinity();
    const ExactObserver watch = [&](std::int64_t, double value) {
      EXPECT_GE(value, last);
      last = value;
      return true;
    };
    fit_full_rank(elbo, model.start(), watch);
    last = -std::numeric_limits<double>::infinity();
    const Vector sd = Vector::Constant(12, .1);
    ascend_low_rank(elbo, {model.start(), .1 * test::normals(12, 2, 6), sd}, {sd, std::nullopt}, 1e-4, watch);
  }
}

TEST(ExactFits, StopWhenToldTo) {
  const Regression model = problem(Kind::logistic, 60, 12, 5);
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const ExactObserver stop = [](std::int64_t passes, double) { return passes < 4; };
  EXPECT_TRUE(fit_full_rank(elbo, model.start(), stop).stop.interrupted);
  const Vector sd = Vector::Constant(12, .1);
  const LowRankFit fit =
      fit_low_rank(elbo, {model.start(), test::normals(12, 2, 6), sd}, {sd, std::nullopt}, 1, stop);
  EXPECT_TRUE(fit.stop.interrupted);
  EXPECT_FALSE(fit.stop.converged);
  EXPECT_LT(elbo.passes(), 12);
}

/// Riemannian gradients against differences along retractions.
TEST(LowRankCoordinates, GradientIsThatOfTheElbo) {
  for (const auto& [name, model] : test::all_models(20, 5)) {
    const Index m = model.dimension();
    const Index p = 2;
    Workers workers(1);
    ExactElbo elbo(*model.expectations(), workers);
    const Vector sd = .1 * test::normals(m, 1, 3).col(0).array().exp();
    Matrix curvature = .1 * test::normals(m, m, 4);
    curvature = curvature * curvature.transpose() + Matrix(sd.cwiseAbs2().cwiseInverse().asDiagonal());
    for (const std::optional<Matrix>& scaling : {std::optional<Matrix>(), std::optional<Matrix>(curvature)}) {
      LowRankCoordinates coordinates(model.start(), sd, scaling, p, workers);
      const Vector x = coordinates.coordinates(
          {model.start() + .1 * test::normals(m, 1, 5).col(0), .1 * test::normals(m, p, 6), sd});
      const auto value = [&](const Vector& at, LowRankDerivatives& derivatives) {
        const LowRankPoint point = coordinates.point(at);
        return elbo.low_rank(point.mean, point.factors, point.residual_sd, derivatives);
      };
      LowRankDerivatives derivatives, ignored;
      value(x, derivatives);
      const Vector gradient = coordinates.gradient(x, coordinates.point(x), derivatives);
      for (std::uint64_t k = 0; k < 6; ++k) {
        Vector direction = test::normals(coordinates.dimension(), 1, 50 + k).col(0);
        coordinates.project(x, direction);
        const double h = 1e-5;
        const double slope = (value(coordinates.retract(x, h * direction), ignored) -
                              value(coordinates.retract(x, -h * direction), ignored)) /
                             (2 * h);
        EXPECT_NEAR(gradient.dot(direction), slope, 1e-5 * (1 + gradient.norm())) << name;
      }
    }
  }
}

TEST(LowRankCoordinates, GoThereAndBack) {
  const Index m = 9;
  Workers workers(1);
  const Vector sd = test::normals(m, 1, 3).col(0).array().exp();
  Matrix curvature = test::normals(m, m, 4);
  curvature = curvature * curvature.transpose() + Matrix(sd.cwiseAbs2().cwiseInverse().asDiagonal());
  const LowRankPoint point{test::normals(m, 1, 5).col(0), test::normals(m, 3, 6), 2 * sd};
  for (const std::optional<Matrix>& scaling : {std::optional<Matrix>(), std::optional<Matrix>(curvature)}) {
    LowRankCoordinates coordinates(Vector::Zero(m), sd, scaling, 3, workers);
    const LowRankPoint back = coordinates.point(coordinates.coordinates(point));
    EXPECT_LT((back.mean - point.mean).norm(), 1e-12);
    EXPECT_LT((back.factors * back.factors.transpose() - point.factors * point.factors.transpose()).norm(),
              1e-10);
    EXPECT_LT((back.residual_sd - point.residual_sd).norm(), 1e-10);
  }
}

// Known noise: E[-Hessian] is constant, so that the best low-rank Gaussian is the quadratic's.
TEST(ExactLowRank, FindsTheQuadraticsBestForAGaussianPosterior) {
  const Regression model = problem(Kind::known_noise, 40, 15, 7);
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const CurvedElbo start = elbo.point(model.start());
  const QuadraticFit best = QuadraticFitter(start.curvature).best(2);
  const Vector sd = start.curvature.diagonal().cwiseSqrt().cwiseInverse();
  const LowRankFit fit = fit_low_rank(elbo, {model.start(), sd.asDiagonal() * test::normals(15, 2, 6), sd},
                                      {sd, start.curvature}, 1, test::kGoOn);
  const Vector mode = model.start() + start.curvature.llt().solve(start.gradient);
  EXPECT_TRUE(fit.stop.converged);
  EXPECT_LT((fit.at.mean - mode).cwiseQuotient(sd).norm(), .03);
  LowRankDerivatives ignored;
  EXPECT_GT(fit.elbo, elbo.low_rank(mode, best.factors, best.residual_sd, ignored) - 1e-3);
}

// No random start among many leads higher by more than the tolerance of ascents.
TEST(ExactLowRank, IsTheBestOfManyStarts) {
  const Regression model = problem(Kind::logistic, 150, 20, 11);
  Workers workers(2);
  ExactElbo elbo(*model.expectations(), workers);
  const ModePoint mode = newton_mode(elbo, model.start(), test::kGoOn);
  const Vector sd = mode.curvature.diagonal().cwiseSqrt().cwiseInverse();
  const AscentScales scales{sd, mode.curvature};
  const QuadraticFit start = QuadraticFitter(mode.curvature).fit(3);
  const LowRankFit fit =
      fit_low_rank(elbo, {mode.mean, start.factors, start.residual_sd}, scales, 1, test::kGoOn);
  EXPECT_TRUE(fit.stop.converged);
  for (std::uint64_t k = 0; k < 30; ++k) {
    const Matrix factors = sd.asDiagonal() * test::normals(20, 3, 200 + k);
    EXPECT_GT(fit.elbo,
              ascend_low_rank(elbo, {mode.mean, factors, sd}, scales, 1e-3, test::kGoOn).elbo - .005);
  }
}

TEST(ExactLowRank, SameBitsForAnyNumberOfThreads) {
  const Regression model = problem(Kind::logistic, 100, 12, 13);
  std::vector<LowRankFit> fits;
  for (const int threads : {1, 2, 4}) {
    Workers workers(threads);
    ExactElbo elbo(*model.expectations(), workers);
    const Vector sd = Vector::Constant(12, .2);
    fits.push_back(fit_low_rank(elbo, {model.start(), sd.asDiagonal() * test::normals(12, 2, 6), sd},
                                {sd, std::nullopt}, 1, test::kGoOn));
  }
  for (const LowRankFit& fit : fits) {
    EXPECT_EQ(fit.elbo, fits.front().elbo);
    EXPECT_EQ(fit.at.mean, fits.front().at.mean);
    EXPECT_EQ(fit.at.factors, fits.front().at.factors);
  }
}

// Steps to the best Gaussian for a constant curvature.
TEST(QuadraticSteps, NeedOneStepForAGaussianPosterior) {
  const Regression model = problem(Kind::known_noise, 40, 15, 7);
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const Vector sd = elbo.point(model.start()).curvature.diagonal().cwiseSqrt().cwiseInverse();
  const QuadraticAscent ascent = ascend_by_quadratics(
      elbo, {model.start(), sd.asDiagonal() * test::normals(15, 2, 6), sd}, 1e-4, test::kGoOn);
  EXPECT_TRUE(ascent.stop.converged);
  EXPECT_EQ(ascent.stop.iterations, 1);
  EXPECT_EQ(elbo.passes(), 3);  // one of them for the sds
}

// With many rows for each parameter a few steps are all, and they end where ascents by gradients end.
TEST(QuadraticSteps, EndWhereGradientsDo) {
  for (const Kind kind : {Kind::logistic, Kind::poisson}) {
    const Regression model = problem(kind, 2000, 10, 9);
    Workers workers(1);
    ExactElbo elbo(*model.expectations(), workers);
    const ModePoint mode = newton_mode(elbo, model.start(), test::kGoOn);
    const Vector sd = mode.curvature.diagonal().cwiseSqrt().cwiseInverse();
    const QuadraticFit quadratic = QuadraticFitter(mode.curvature).fit(2);
    const LowRankPoint start{mode.mean, quadratic.factors, quadratic.residual_sd};
    ExactElbo counted(*model.expectations(), workers);
    const QuadraticAscent ascent = ascend_by_quadratics(counted, start, 1e-4, test::kGoOn);
    EXPECT_TRUE(ascent.stop.converged);
    EXPECT_LE(counted.passes(), 5);
    const LowRankFit plain = ascend_low_rank(elbo, start, {sd, mode.curvature}, 1e-6, test::kGoOn);
    EXPECT_NEAR(ascent.here.elbo, plain.elbo, 1e-3);
    LowRankDerivatives ignored;
    EXPECT_EQ(ascent.here.elbo, elbo.low_rank(ascent.at.mean, ascent.at.factors, ascent.at.residual_sd).elbo);
    EXPECT_NEAR(ascent.here.elbo,
                elbo.low_rank(ascent.at.mean, ascent.at.factors, ascent.at.residual_sd, ignored),
                1e-10 * std::abs(ascent.here.elbo));
  }
}

// Few rows: steps may end early, but never lower than where they began.
TEST(QuadraticSteps, NeverFall) {
  const Regression model = problem(Kind::logistic, 30, 12, 5);
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  double last = -std::numeric_limits<double>::infinity();
  const ExactObserver watch = [&](std::int64_t, double value) {
    EXPECT_GE(value, last);
    last = value;
    return true;
  };
  const QuadraticAscent ascent = ascend_by_quadratics(
      elbo, {model.start(), .1 * test::normals(12, 2, 6), Vector::Constant(12, .1)}, 1e-4, watch);
  EXPECT_GE(ascent.here.elbo, last);
}

// A fit of full rank from a given precision ends where that from the start's own curvature does.
TEST(ExactFullRank, StartsFromAGivenPrecision) {
  const Regression model = problem(Kind::logistic, 80, 8, 4);
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const FullRankFit plain = fit_full_rank(elbo, model.start(), test::kGoOn);
  ExactElbo counted(*model.expectations(), workers);
  const FullRankFit again = fit_full_rank(counted, plain.mean, plain.curvature, test::kGoOn);
  EXPECT_TRUE(again.stop.converged);
  EXPECT_EQ(counted.passes(), 1);
  EXPECT_NEAR(again.elbo, plain.elbo, kExactTolerance);
  EXPECT_LT((again.root.transpose() * again.curvature * again.root - Matrix::Identity(8, 8)).norm(), .03);
}

// Fewer rows than parameters: in the span of the rows the steps are the same, and cheaper.
TEST(ExactFullRank, TakesTheSameStepsInTheSpanOfTheRows) {
  const Regression model = problem(Kind::logistic, 12, 30, 4);
  Workers workers(1);
  ASSERT_TRUE(worthwhile_reduction(*model.expectations()).has_value());
  ExactElbo elbo(*model.expectations(), workers);
  const FullRankResult fit = best_full_rank_gaussian(elbo, model.start(), test::kGoOn);
  ExactElbo plain_elbo(*model.expectations(), workers);
  const FullRankFit plain = fit_full_rank(plain_elbo, model.start(), test::kGoOn);
  EXPECT_TRUE(fit.stop.converged);
  EXPECT_EQ(fit.stop.iterations, plain.stop.iterations);
  EXPECT_EQ(elbo.passes(), plain_elbo.passes());
  EXPECT_NEAR(fit.elbo, plain.elbo, 1e-9 * std::abs(plain.elbo));
  EXPECT_LT((fit.posterior.mean() - plain.mean).norm(), 1e-8);
  const Matrix covariance = fit.posterior.factors() * fit.posterior.factors().transpose();
  EXPECT_LT((covariance - plain.root * plain.root.transpose()).norm(), 1e-8);
}

}  // namespace
}  // namespace magva
