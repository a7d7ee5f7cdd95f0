// Linear response against refits under small tilts, and by terms against differences of expectations.
#include "exact/linear_response.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>

#include "exact/low_rank.hpp"
#include "magva/fit.hpp"
#include "magva/priors.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

/// y_i ~ Poisson(exp(x_i' theta)), theta ~ N(0, 4 I): E log h is known in closed form.
struct PoissonPosterior {
  RowMatrix x;
  Vector y;
  Vector tilt;

  PoissonPosterior(Index rows, Index columns)
      : x(.7 * test::normals(rows, columns, 31)), y(Vector::LinSpaced(rows, 0, 3).array().round()) {
    tilt = Vector::Zero(columns);
  }

  Vector rates(const Vector& mean, const Matrix& sigma) const {
    const Vector variance = (x * sigma).cwiseProduct(x).rowwise().sum();
    return (x * mean + .5 * variance).array().exp();
  }
  double elbo(const Vector& mean, const Matrix& sigma) const {
    return y.dot(x * mean) - rates(mean, sigma).sum() - (mean.squaredNorm() + sigma.trace()) / 8 +
           tilt.dot(mean) + .5 * std::log(sigma.determinant());
  }
  Matrix curvature(const Vector& rate) const {
    Matrix c = x.transpose() * rate.asDiagonal() * x;
    c.diagonal().array() += .25;
    return c;
  }
  PredictorTerms terms(const Vector& rate) const { return {x, -rate, -.5 * rate}; }
};

test::FullRank best_full_rank(const PoissonPosterior& posterior) {
  const Index m = posterior.x.cols();
  test::FullRank at{Vector::Zero(m), .01 * Matrix::Identity(m, m)};
  for (int i = 0; i < 400; ++i) {
    const Vector rate = posterior.rates(at.mean, at.sigma);
    const Matrix c = posterior.curvature(rate);
    const Vector gradient = posterior.x.transpose() * (posterior.y - rate) - .25 * at.mean + posterior.tilt;
    const double part = i < 20 ? .3 : 1;
    at.mean += part * c.llt().solve(gradient);
    at.sigma = ((1 - part) * at.sigma.inverse() + part * c).inverse();
  }
  return at;
}

void expect_refits_agree(Index rows) {
  const Index m = 4;
  PoissonPosterior posterior(rows, m);
  const test::FullRank best = best_full_rank(posterior);
  const auto response = linear_response(posterior.terms(posterior.rates(best.mean, best.sigma)), best.sigma);
  ASSERT_TRUE(response.has_value());
  EXPECT_LT((*response - response->transpose()).norm(), 1e-10 * response->norm());
  EXPECT_GT((*response - best.sigma).norm(), .005 * best.sigma.norm());  // there is something to correct
  const double h = 1e-5;
  for (Index i = 0; i < m; ++i) {
    posterior.tilt = h * Vector::Unit(m, i);
    const Vector above = best_full_rank(posterior).mean;
    posterior.tilt = -h * Vector::Unit(m, i);
    const Vector below = best_full_rank(posterior).mean;
    EXPECT_LT(((above - below) / (2 * h) - response->col(i)).norm(), 1e-6 * response->norm());
  }
}

TEST(LinearResponse, EqualsRefitsUnderSmallTiltsWithFewRows) { expect_refits_agree(6); }

TEST(LinearResponse, EqualsRefitsUnderSmallTiltsWithManyRows) { expect_refits_agree(60); }

TEST(LinearResponse, LeavesAQuadraticAlone) {
  const PoissonPosterior posterior(20, 5);
  const Matrix c = posterior.curvature(Vector::Ones(20));
  const PredictorTerms flat{posterior.x, Vector::Zero(20), Vector::Zero(20)};
  EXPECT_LT((*linear_response(flat, c.inverse()) - c.inverse()).norm(), 1e-10);
}

/// Of least squares.
Vector responses_residual(const RowMatrix& x, const Vector& y) {
  return y - x * (x.transpose() * x).llt().solve(x.transpose() * y);
}

/// To the best full-rank Gaussian, as far as numbers go.
test::FullRank best_full_rank(ExactElbo& elbo, const Vector& start) {
  const Index m = start.size();
  test::FullRank at{start, .01 * Matrix::Identity(m, m)};
  for (int i = 0; i < 200; ++i) {
    const CurvedElbo here = elbo.full_rank(at.mean, Matrix(at.sigma.llt().matrixL()), 0);
    const double part = i < 30 ? .3 : 1;
    at.mean += part * here.curvature.llt().solve(here.gradient);
    at.sigma = ((1 - part) * at.sigma.inverse() + part * here.curvature).inverse();
  }
  return at;
}

/// Weights, an offset, and a prior that is no quadratic in its last coefficients.
Regression curved_regression(test::Kind kind) {
  const Index rows = 40;
  const Index cols = 5;
  const RowMatrix x = test::design(rows, cols, 41);
  const std::vector<PriorBlock> blocks{
      {0, 1, NormalBlock{Vector::Zero(1), Vector::Constant(1, 3.)}},
      {1, 4, StudentTBlock{Vector::Constant(4, 3.), Vector::Zero(4), Vector::Ones(4)}}};
  RegressionData data{Design::own(x),
                      test::responses(kind, x, 42),
                      Vector::Ones(rows) + .5 * test::normals(rows, 1, 43).col(0).cwiseAbs(),
                      {}};
  data.offset = .3 * test::normals(rows, 1, 44).col(0);
  return {std::move(data), kind == test::Kind::poisson ? poisson_log() : bernoulli_logit(),
          make_prior(blocks, cols)};
}

// The fast way, by terms, against the plain one, by differences of expectations; both are exact but for
// these: 1e-4 for the residual of conjugate gradients.
TEST(LinearResponse, ByTermsIsThatByDifferences) {
  for (const test::Kind kind : {test::Kind::logistic, test::Kind::poisson}) {
    const Regression model = curved_regression(kind);
    Workers workers(1);
    ExactElbo elbo(*model.expectations(), workers);
    const test::FullRank best = best_full_rank(elbo, model.start());
    const Matrix root = best.sigma.llt().matrixL();
    const auto terms = model.expectations()->predictor_terms({best.mean, root, Vector()});
    ASSERT_TRUE(terms.has_value());
    EXPECT_EQ(terms->rows.rows(), 44);  // one for each observation and each Student-t prior
    const auto fast = linear_response(*terms, best.sigma);
    const auto plain = linear_response_by_differences(elbo, best.mean, root);
    ASSERT_TRUE(fast && plain);
    EXPECT_GT((*fast - best.sigma).norm(), .01 * best.sigma.norm());
    EXPECT_LT((*fast - *plain).norm(), 2e-4 * fast->norm());
    const auto whole = linear_response(elbo, Gaussian::dense(best.mean, root), std::nullopt, test::kGoOn);
    ASSERT_TRUE(whole.has_value());
    EXPECT_LT((whole->corrected.sd() - Vector(fast->diagonal().cwiseSqrt())).norm(), 1e-6);
    EXPECT_GT(whole->change, 0);
  }
}

// y ~ N(x' beta, sigma^2) with few rows: beta has the sds of a t distribution, which a Gaussian does not see.
// With a wide prior on beta and p(log sigma) flat enough, Var beta = (X'X)^-1 times the posterior mean of
// sigma^2.
TEST(LinearResponse, WidensCoefficientsIfTheNoiseIsUnknown) {
  const RowMatrix x = test::design(14, 3, 51);
  const Regression model = test::regression(test::Kind::unknown_noise, Design::own(x),
                                            test::responses(test::Kind::unknown_noise, x, 52),
                                            NormalPriorOptions{.variance = 1e4});
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const test::FullRank best = best_full_rank(elbo, model.start());
  const auto response = linear_response(elbo, Gaussian::dense(best.mean, best.sigma.llt().matrixL()),
                                        std::nullopt, test::kGoOn);
  ASSERT_TRUE(response.has_value());
  // 14 - 3 degrees of freedom, and a half-Cauchy prior that adds about none: a t's variance is 11 / 9 of its
  // squared scale.
  const Vector residual = responses_residual(x, test::responses(test::Kind::unknown_noise, x, 52));
  const Matrix scale = residual.squaredNorm() / 11 * (x.transpose() * x).inverse();
  const Vector wanted = (11. / 9 * scale.diagonal()).cwiseSqrt();
  const Vector found = response->corrected.sd().head(3);
  const Vector fitted = best.sigma.diagonal().head(3).cwiseSqrt();
  for (Index j = 0; j < 3; ++j) {
    EXPECT_GT(found(j), 1.02 * fitted(j));
    EXPECT_LT(std::abs(std::log(found(j) / wanted(j))), .5 * std::abs(std::log(fitted(j) / wanted(j))));
  }
}

// A fit of any rank is corrected to the same Gaussian, up to the nats that 'converged' leaves to gain.
TEST(LinearResponse, OfLowRankIsThatOfFullRank) {
  const RowMatrix x = test::design(60, 6, 55);
  const Regression model =
      test::regression(test::Kind::logistic, Design::own(x), test::responses(test::Kind::logistic, x, 56),
                       NormalPriorOptions{});
  FitOptions options;
  options.rank = 1;
  const Gaussian low = fit(model, options).posterior;
  const Gaussian full = fit(model).posterior;
  ASSERT_TRUE(low.has_correction() && full.has_correction());
  EXPECT_EQ(low.rank(), 1);
  EXPECT_GT((full.sd().array() / low.sd().array()).maxCoeff(), 1.05);
  EXPECT_LT((low.corrected().sd().array() / full.corrected().sd().array()).log().abs().maxCoeff(), .01);
  const Vector shift = low.corrected().mean() - full.corrected().mean();
  EXPECT_LT(shift.cwiseQuotient(full.sd()).cwiseAbs().maxCoeff(), .01);
}

// A curvature that the fit has come to know saves the pass that computes it. Both begin near the full-rank
// optimum and end within what 'converged' leaves to gain.
TEST(LinearResponse, BeginsWithACurvatureThatIsKnown) {
  const RowMatrix x = test::design(60, 6, 55);
  const Regression model =
      test::regression(test::Kind::logistic, Design::own(x), test::responses(test::Kind::logistic, x, 56),
                       NormalPriorOptions{});
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const Vector sd = Vector::Constant(6, .1);
  const LowRankFit low = fit_low_rank(elbo, {model.start(), .1 * test::normals(6, 1, 6), sd},
                                      {sd, std::nullopt}, 1, test::kGoOn);
  ASSERT_TRUE(low.curvature.has_value());
  const Gaussian q = Gaussian::low_rank(low.at.mean, low.at.factors, low.at.residual_sd);
  const auto passes_of = [&](const std::optional<Matrix>& near, std::optional<LinearResponse>& out) {
    const std::int64_t before = elbo.passes();
    out = linear_response(elbo, q, near, test::kGoOn);
    return elbo.passes() - before;
  };
  std::optional<LinearResponse> with, without;
  const std::int64_t fewer = passes_of(low.curvature, with);
  EXPECT_EQ(passes_of(std::nullopt, without), fewer + 1);
  ASSERT_TRUE(with && without);
  const Vector ratio = with->corrected.sd().cwiseQuotient(without->corrected.sd());
  EXPECT_LT(ratio.array().log().abs().maxCoeff(), .01);
}

TEST(LinearResponse, IsLeftOutIfItTakesTooLong) {
  const PredictorTerms large{RowMatrix::Zero(30000, 100), Vector::Zero(30000), Vector::Zero(30000)};
  EXPECT_FALSE(linear_response(large, Matrix::Identity(100, 100)).has_value());
}

}  // namespace
}  // namespace magva
