// Fewer rows than coefficients: linear response in the span of the rows against that in all dimensions,
// against refits under small tilts, and exact for Gaussian posteriors.
#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>

#include "exact/linear_response.hpp"
#include "magva/fit.hpp"
#include "magva/priors.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

constexpr Index kRows = 6;
constexpr Index kColumns = 11;

/// With weights and an offset.
Regression wide_regression(test::Kind kind, std::shared_ptr<const CoefficientPrior> prior) {
  const RowMatrix x = test::design(kRows, kColumns, 61);
  RegressionData data{Design::own(x),
                      test::responses(kind, x, 62),
                      Vector::Ones(kRows) + .5 * test::normals(kRows, 1, 63).col(0).cwiseAbs(),
                      {}};
  data.offset = .3 * test::normals(kRows, 1, 64).col(0);
  return {std::move(data), kind == test::Kind::poisson ? poisson_log() : bernoulli_logit(), std::move(prior)};
}

/// Independent normals with means and sds of their own.
std::shared_ptr<const CoefficientPrior> independent_prior() {
  const Vector location = .2 * test::normals(kColumns, 1, 65).col(0);
  const Vector scale = 1 + test::normals(kColumns, 1, 66).col(0).array().square();
  return make_prior({{0, kColumns, NormalBlock{location, scale}}}, kColumns);
}

/// The intercept's at centred predictors.
std::shared_ptr<const CoefficientPrior> centred_prior() {
  Vector centre = test::normals(kColumns, 1, 67).col(0);
  centre(0) = 0;
  return make_prior({{0, 1, CentredInterceptBlock{.4, 2.5, centre}},
                     {1, kColumns - 1,
                      NormalBlock{Vector::Constant(kColumns - 1, .1), Vector::Constant(kColumns - 1, 1.5)}}},
                    kColumns);
}

/// The best full-rank Gaussian under a tilt, from the best without one, as far as numbers go: whole steps may
/// go to and fro.
test::FullRank best_under_tilt(ExactElbo& elbo, const Vector& tilt) {
  const FullRankFit fit = fit_full_rank(elbo, Vector::Zero(tilt.size()), test::kGoOn);
  test::FullRank at{fit.mean, fit.root * fit.root.transpose()};
  for (int i = 0; i < 500; ++i) {
    const CurvedElbo here = elbo.full_rank(at.mean, Matrix(at.sigma.llt().matrixL()), 0);
    at.mean += .5 * here.curvature.llt().solve(here.gradient + tilt);
    at.sigma = (.5 * at.sigma.inverse() + .5 * here.curvature).inverse();
  }
  return at;
}

test::FullRank best_under_tilt(ExactElbo& elbo) {
  return best_under_tilt(elbo, Vector::Zero(elbo.dimension()));
}

double elbo_at(ExactElbo& elbo, const test::FullRank& at) {
  return elbo.full_rank(at.mean, Matrix(at.sigma.llt().matrixL()), std::log(at.sigma.determinant())).elbo;
}

Matrix response_of(const ExpectedLogDensity& expected, const test::FullRank& at) {
  const Matrix root = at.sigma.llt().matrixL();
  return *linear_response(*expected.predictor_terms({at.mean, root, Vector()}), at.sigma);
}

Matrix covariance_of(const Gaussian& q) { return q.times(Matrix::Identity(q.dimension(), q.dimension())); }

void expect_reduced_is_primal(const Regression& model) {
  Workers workers(1);
  ExactElbo primal(*model.expectations(), workers);
  const auto reduced = model.expectations()->reduced();
  ASSERT_TRUE(reduced.has_value());
  ExactElbo within(*reduced->density, workers);
  EXPECT_LT(within.dimension(), kColumns);
  const test::FullRank best = best_under_tilt(primal);
  const test::FullRank small = best_under_tilt(within);
  EXPECT_NEAR(elbo_at(primal, best), elbo_at(within, small), 1e-8);
  const Gaussian fitted = expand(*reduced, small.mean, small.sigma).value();
  EXPECT_LT((fitted.mean() - best.mean).norm(), 1e-8 * best.mean.norm());
  EXPECT_LT((covariance_of(fitted) - best.sigma).norm(), 1e-8 * best.sigma.norm());
  const Matrix wanted = response_of(*model.expectations(), best);
  const Gaussian corrected = expand(*reduced, small.mean, response_of(*reduced->density, small)).value();
  EXPECT_GT((wanted - best.sigma).norm(), 1e-3 * best.sigma.norm());  // there is something to correct
  EXPECT_LT((covariance_of(corrected) - wanted).norm(), 1e-8 * wanted.norm());
  EXPECT_LT((reduce(*reduced, fitted.mean()) - small.mean).norm(), 1e-8);
}

TEST(ReducedResponse, IsThatOfAllDimensions) {
  for (const test::Kind kind : {test::Kind::logistic, test::Kind::poisson})
    for (const auto& prior : {independent_prior(), centred_prior()})
      expect_reduced_is_primal(wide_regression(kind, prior));
}

TEST(ReducedResponse, EqualsRefitsUnderSmallTilts) {
  const Regression model = wide_regression(test::Kind::poisson, centred_prior());
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const auto reduced = model.expectations()->reduced();
  ExactElbo within(*reduced->density, workers);
  const test::FullRank small = best_under_tilt(within);
  const Matrix response =
      covariance_of(expand(*reduced, small.mean, response_of(*reduced->density, small)).value());
  const double h = 1e-4;
  for (const Index i : {Index{0}, Index{4}}) {
    const Vector tilt = h * Vector::Unit(kColumns, i);
    const Vector moved = (best_under_tilt(elbo, tilt).mean - best_under_tilt(elbo, -tilt).mean) / (2 * h);
    EXPECT_LT((moved - response.col(i)).norm(), 1e-6 * response.col(i).norm());
  }
}

// Where the rows say almost everything, 1 + change is rounding: such fits are made in all dimensions.
TEST(ReducedResponse, IsNotForPosteriorsThatAreNarrowBesideTheirPrior) {
  const RowMatrix x = test::design(7, 12, 71);
  const Vector y = test::responses(test::Kind::known_noise, x, 72);
  const Regression model =
      test::regression(test::Kind::known_noise, Design::own(x), y, NormalPriorOptions{.variance = 1e12});
  const auto reduced = worthwhile_reduction(*model.expectations());
  ASSERT_TRUE(reduced.has_value());
  const Matrix inverse = reduced->mixing.inverse();
  const Matrix as_prior = inverse * inverse.transpose();
  const Vector centre = Vector::Zero(inverse.rows());
  EXPECT_TRUE(expand(*reduced, centre, 1e-6 * as_prior).has_value());
  EXPECT_FALSE(expand(*reduced, centre, 1e-13 * as_prior).has_value());
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const FullRankResult fit =
      best_full_rank_gaussian(elbo, model.start(), [](std::int64_t, double) { return true; });
  EXPECT_TRUE(fit.stop.converged);
  EXPECT_LT((x * fit.posterior.mean() - y).norm(), 1e-3 * y.norm());
}

TEST(ReducedResponse, IsExactForGaussianPosteriorsOfAnyRank) {
  const RowMatrix x = test::design(7, 12, 71);
  const Regression model =
      test::regression(test::Kind::known_noise, Design::own(x),
                       test::responses(test::Kind::known_noise, x, 72), NormalPriorOptions{.variance = 3});
  Matrix precision = x.transpose() * x / .49;
  precision.diagonal().array() += 1. / 3;
  const Matrix wanted = precision.inverse();
  for (const Index rank : {0, 3, 12}) {
    FitOptions options;
    options.rank = rank;
    const Gaussian q = fit(model, options).posterior;
    ASSERT_TRUE(q.has_correction() || rank == 12);
    EXPECT_EQ(q.corrected().is_spiked(), rank < 12);
    EXPECT_LT((covariance_of(q.corrected()) - wanted).norm(), 1e-8 * wanted.norm());
  }
}

// The noise's sd is a coordinate of its own. By differences of expectations both ways: 1e-4 for the residual
// of conjugate gradients in each.
TEST(ReducedResponse, HasTheLikelihoodsOwnCoordinate) {
  const RowMatrix x = test::design(10, 14, 73);
  const Regression model =
      test::regression(test::Kind::unknown_noise, Design::own(x),
                       test::responses(test::Kind::unknown_noise, x, 74), NormalPriorOptions{.variance = .3});
  Workers workers(1);
  ExactElbo primal(*model.expectations(), workers);
  const auto reduced = model.expectations()->reduced();
  ASSERT_TRUE(reduced.has_value());
  ExactElbo within(*reduced->density, workers);
  const test::FullRank best = best_under_tilt(primal);
  const test::FullRank small = best_under_tilt(within);
  EXPECT_LT((expand(*reduced, small.mean, small.sigma)->mean() - best.mean).norm(), 1e-7 * best.mean.norm());
  const auto plain = linear_response_by_differences(primal, best.mean, best.sigma.llt().matrixL());
  const auto fast = linear_response_by_differences(within, small.mean, small.sigma.llt().matrixL());
  ASSERT_TRUE(plain && fast);
  EXPECT_LT((covariance_of(expand(*reduced, small.mean, *fast).value()) - *plain).norm(),
            4e-4 * plain->norm());
}

// A fit of low rank of more parameters than a dense covariance may have.
TEST(ReducedResponse, CorrectsAllSdsOfAWideRegression) {
  const RowMatrix x = test::design(20, 2100, 75);
  const Regression model =
      test::regression(test::Kind::logistic, Design::own(x), test::responses(test::Kind::logistic, x, 76),
                       NormalPriorOptions{.variance = .02});
  FitOptions options;
  options.rank = 1;
  const Gaussian q = fit(model, options).posterior;
  ASSERT_TRUE(q.has_correction());
  EXPECT_TRUE(q.corrected().is_spiked());
  // Its precision is that of the prior and X'AX with positive A, less the response's part, so that no sd is
  // above the prior's, and the sum of what the data take is at most their number.
  const Vector share = q.corrected().sd().cwiseAbs2() / .02;
  EXPECT_LE(share.maxCoeff(), 1 + 1e-9);
  EXPECT_LT(2100 - share.sum(), 20);
  EXPECT_GT(2100 - share.sum(), 1);
}

TEST(ReducedResponse, IsLeftToNormalPriorsAndFewRows) {
  const RowMatrix tall = test::design(12, 5, 77);
  const Vector y = test::responses(test::Kind::logistic, tall, 78);
  EXPECT_FALSE(test::regression(test::Kind::logistic, Design::own(tall), y, NormalPriorOptions{})
                   .expectations()
                   ->reduced());
  const std::vector<PriorBlock> curved{
      {0, kColumns,
       StudentTBlock{Vector::Constant(kColumns, 4.), Vector::Zero(kColumns), Vector::Ones(kColumns)}}};
  EXPECT_FALSE(wide_regression(test::Kind::logistic, make_prior(curved, kColumns)).expectations()->reduced());
}

}  // namespace
}  // namespace magva
