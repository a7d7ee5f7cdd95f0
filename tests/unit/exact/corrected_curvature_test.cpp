#include "exact/corrected_curvature.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include "exact/low_rank.hpp"
#include "exact/quadratic_steps.hpp"
#include "search/quadratic_fit.hpp"
#include "support/targets.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

// With a factor of length zero, as a fit may have that needs fewer than it is given.
TEST(CorrectedCurvature, HasTheProductsAndTheDiagonal) {
  const Index m = 20;
  const Matrix truth = test::random_precision(m, 1);
  const Matrix older = truth + .05 * test::random_precision(m, 2);
  Matrix factors = test::normals(m, 3, 3);
  factors.col(1).setZero();
  const Matrix found = corrected_curvature(older, factors, {truth * factors, truth.diagonal()});
  EXPECT_LT((found * factors - truth * factors).norm(), 1e-8 * (truth * factors).norm());
  EXPECT_LT((found.diagonal() - truth.diagonal()).norm(), 1e-10 * truth.diagonal().norm());
  EXPECT_LT((found - found.transpose()).norm(), 1e-12 * found.norm());
  EXPECT_LT((found - truth).norm(), (older - truth).norm());
}

TEST(CorrectedCurvature, LeavesWhatIsRight) {
  const Matrix truth = test::random_precision(12, 4);
  const Matrix factors = test::normals(12, 2, 5);
  EXPECT_LT((corrected_curvature(truth, factors, {truth * factors, truth.diagonal()}) - truth).norm(),
            1e-12 * truth.norm());
  EXPECT_LT((corrected_curvature(truth, Matrix(12, 0), {Matrix(12, 0), truth.diagonal()}) - truth).norm(),
            1e-12 * truth.norm());
}

Regression problem(Index rows, Index cols) {
  const RowMatrix x = test::design(rows, cols, 9);
  return test::regression(test::Kind::logistic, Design::own(x), test::responses(test::Kind::logistic, x, 10),
                          NormalPriorOptions{});
}

// So many columns that most passes give products alone: the end is where C itself says.
TEST(CorrectedCurvature, LeadsToTheMaximumOfTheElbo) {
  const Regression model = problem(900, 40);
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const ModePoint mode = newton_mode(elbo, model.start(), test::kGoOn);
  const QuadraticFit start = QuadraticFitter(mode.curvature).fit(2);
  QuadraticAscent ascent = ascend_by_quadratics(elbo, {mode.mean, start.factors, start.residual_sd},
                                                mode.curvature, kExactTolerance, test::kGoOn);
  EXPECT_TRUE(ascent.stop.converged);
  ASSERT_TRUE(settle_by_quadratics(elbo, ascent, test::kGoOn));
  EXPECT_NE(ascent.source, CurvatureSource::kHere);
  QuadraticAscent plain = ascend_by_quadratics(elbo, ascent.at, kExactTolerance, test::kGoOn);
  EXPECT_EQ(plain.source, CurvatureSource::kHere);
  ASSERT_TRUE(settle_by_quadratics(elbo, plain, test::kGoOn));
  EXPECT_NEAR(ascent.here.elbo, plain.here.elbo, 1e-8);
  LowRankDerivatives slope;
  elbo.low_rank(ascent.at.mean, ascent.at.factors, ascent.at.residual_sd, slope);
  EXPECT_LT(slope.residual_sd.cwiseProduct(ascent.at.residual_sd).norm(), 1e-3);
}

// So many parameters that gradients follow each Hessian.
TEST(NewtonMode, EndsAtTheModeWithItsCurvature) {
  const Regression model = problem(900, 40);
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const ModePoint mode = newton_mode(elbo, model.start(), test::kGoOn);
  EXPECT_TRUE(mode.converged);
  const CurvedElbo at = elbo.point(mode.mean);
  EXPECT_EQ(mode.curvature, at.curvature);
  EXPECT_EQ(mode.log_density, at.elbo);
  EXPECT_LT(.5 * at.gradient.dot(at.curvature.llt().solve(at.gradient)), 1e-3);
  Vector gradient;
  EXPECT_NEAR(elbo.point(mode.mean, gradient), at.elbo, 1e-10 * std::abs(at.elbo));
  EXPECT_LT((gradient - at.gradient).norm(), 1e-9 * (1 + at.curvature.norm()));
}

}  // namespace
}  // namespace magva
