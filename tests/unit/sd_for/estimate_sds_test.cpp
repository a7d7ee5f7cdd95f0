// Sds by random probes: unbiased, with the standard error that theory says, and nearer than what they
// replace.
#include <gtest/gtest.h>

#include <Eigen/LU>

#include <cmath>

#include "magva/fit.hpp"
#include "magva/priors.hpp"
#include "magva/sd_for.hpp"
#include "sd_for/diagonal_estimate.hpp"
#include "sd_for/family_response.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

const ExactObserver kGoOn = [](std::int64_t, double) { return true; };

MatrixProduct products_with(const Matrix& r) {
  return [r](const Vector& v) { return std::optional<Vector>(r * v); };
}

// z_i ((R - Sigma) z)_i has the variance sum_j (R - Sigma)_ij^2, j not i.
TEST(DiagonalEstimator, IsUnbiasedAndHasItsVariance) {
  const Index m = 30;
  const Gaussian q = Gaussian::low_rank(Vector::Zero(m), test::normals(m, 2, 1), Vector::Ones(m));
  const Matrix noise = .2 * test::normals(m, m, 2);
  const Matrix r = q.times(Matrix::Identity(m, m)) + noise + noise.transpose();
  DiagonalEstimator estimator(q, products_with(r), 3);
  ASSERT_TRUE(estimator.add_probes(400));
  const DiagonalEstimate found = estimator.estimate();
  double chi_square = 0;
  for (Index i = 0; i < m; ++i) {
    const Vector others = noise.row(i).transpose() + noise.col(i);
    const double variance = (others.squaredNorm() - others(i) * others(i)) / 400;
    EXPECT_NEAR(found.se(i) / std::sqrt(variance), 1, .25);  // a relative error of .07 at most, and its tails
    EXPECT_LT(std::abs(found.value(i) - r(i, i)), 4.5 * std::sqrt(variance));
    chi_square += (found.value(i) - r(i, i)) * (found.value(i) - r(i, i)) / variance;
  }
  EXPECT_GT(chi_square, 30 - 4 * std::sqrt(60));
  EXPECT_LT(chi_square, 30 + 4 * std::sqrt(60));
}

TEST(DiagonalEstimator, IsExactForADiagonalDifference) {
  const Gaussian q = Gaussian::low_rank(Vector::Zero(6), test::normals(6, 2, 4), Vector::Ones(6));
  const Vector more = test::normals(6, 1, 5).col(0).cwiseAbs();
  const Matrix r = q.times(Matrix::Identity(6, 6)) + Matrix(more.asDiagonal());
  DiagonalEstimator estimator(q, products_with(r), 6);
  ASSERT_TRUE(estimator.add_probes(2));
  EXPECT_LT((estimator.estimate().value - r.diagonal()).norm(), 1e-12);
  EXPECT_LT(estimator.estimate().se.maxCoeff(), 1e-7);
}

/// Student-t priors: their log density is not concave, so that no fit goes on to full rank.
Regression curved(Index rows, Index columns) {
  const RowMatrix x = test::design(rows, columns, 11);
  const std::vector<PriorBlock> blocks{
      {0, columns,
       StudentTBlock{Vector::Constant(columns, 4.), Vector::Zero(columns), Vector::Constant(columns, .5)}}};
  RegressionData data{Design::own(x), test::responses(test::Kind::logistic, x, 12), {}, {}};
  return {std::move(data), bernoulli_logit(), make_prior(blocks, columns)};
}

FitOptions rank_one() {
  FitOptions options;
  options.rank = 1;
  options.starts = 1;
  return options;
}

struct Errors {
  double before = 0, after = 0, in_se = 0;
  Index count = 0;
};

/// Sums of squares, against the diagonal of a covariance.
Errors errors_of(const FitResult& result, const Vector& variance) {
  Errors out;
  const Vector sd = result.posterior.sd();
  for (Index i = 0; i < sd.size(); ++i) {
    const double wanted = .5 * std::log(variance(i)) - std::log(sd(i));
    const double found = result.sd_estimates->log_change(i);
    if (!std::isfinite(found)) continue;
    ++out.count;
    out.before += wanted * wanted;
    out.after += (found - wanted) * (found - wanted);
    out.in_se += (found - wanted) * (found - wanted) / std::pow(result.sd_estimates->se(i), 2);
  }
  return out;
}

TEST(EstimateSds, OfExactFitsAreNearTheResponse) {
  const Regression model = curved(600, 140);
  const FitResult result = fit(model, rank_one());
  ASSERT_TRUE(result.sd_estimates.has_value());
  EXPECT_FALSE(result.posterior.has_correction());
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  Vector variance(140);
  for (Index i = 0; i < 140; ++i) variance(i) = (*response_column(elbo, result.posterior, i, kGoOn))(i);
  const Errors errors = errors_of(result, variance);
  EXPECT_GT(errors.count, 70);
  EXPECT_LT(errors.after, .3 * errors.before);
  EXPECT_LT(errors.in_se / static_cast<double>(errors.count),
            2);  // 1 but for the noise of few probes' spread
  EXPECT_EQ(fit(model, rank_one()).sd_estimates->se, result.sd_estimates->se);  // deterministic
}

TEST(EstimateSds, OfFitsWithDrawsAreNearTheInverseCurvature) {
  const Regression model = curved(600, 140);
  FitOptions options = rank_one();
  options.expectations = Expectations::kDraws;
  const FitResult result = fit(model, options);
  ASSERT_TRUE(result.sd_estimates.has_value());
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const Gaussian& q = result.posterior;
  const Matrix curvature = elbo.low_rank(q.mean(), q.factors(), q.residual_sd()).curvature;
  const Errors errors = errors_of(result, curvature.inverse().diagonal());
  EXPECT_GT(errors.count, 70);
  EXPECT_LT(errors.after, .4 * errors.before);
}

TEST(EstimateSds, LeaveThoseAskedForAlone) {
  const Regression model = curved(600, 140);
  FitResult result = fit(model, rank_one());
  ASSERT_TRUE(result.sd_estimates.has_value());
  correct_sds(model, result, {model.parameter_name(5)}, rank_one());
  EXPECT_TRUE(std::isnan(result.sd_estimates->log_change(5)));
}

// With about as many rows as columns a Gaussian of rank 1 omits so much that no number of probes is enough.
TEST(EstimateSds, ReportNothingWhereTheirErrorsAreLarge) {
  EXPECT_FALSE(fit(curved(150, 140), rank_one()).sd_estimates.has_value());
}

}  // namespace
}  // namespace magva
