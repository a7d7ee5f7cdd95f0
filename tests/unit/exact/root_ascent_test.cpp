// Full rank by gradients, where Newton steps hardly advance.
#include "exact/root_ascent.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "unit/exact/problems.hpp"

namespace magva {
namespace {

using test::Kind;

TEST(RootAscent, GradientIsThatOfTheElbo) {
  for (const auto& [name, model] : test::all_models(20, 5)) {
    const Index m = model.dimension();
    Workers workers(1);
    ExactElbo elbo(*model.expectations(), workers);
    Matrix root = .02 * test::normals(m, m, 4).triangularView<Eigen::Upper>().toDenseMatrix();
    root.diagonal().setConstant(.1);
    RootObjective objective(elbo, {model.start(), root}, test::kGoOn);
    const Vector x = .3 * test::normals(objective.dimension(), 1, 5).col(0);
    Vector gradient, ignored;
    objective.evaluate(x, gradient);
    for (std::uint64_t k = 0; k < 6; ++k) {
      const Vector direction = test::normals(objective.dimension(), 1, 50 + k).col(0);
      const double h = 1e-5;
      const double slope =
          (objective.evaluate(x + h * direction, ignored) - objective.evaluate(x - h * direction, ignored)) /
          (2 * h);
      EXPECT_NEAR(gradient.dot(direction), slope, 1e-5 * (1 + gradient.norm())) << name;
    }
  }
}

// Where Newton steps converge at once, gradients end at the same ELBO.
TEST(RootAscent, EndsWhereNewtonStepsDo) {
  const RowMatrix x = test::design(80, 6, 4);
  const Regression model = test::regression(Kind::logistic, Design::own(x),
                                            test::responses(Kind::logistic, x, 5), NormalPriorOptions{});
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const FullRankFit newton = fit_full_rank(elbo, model.start(), test::kGoOn);
  const RootAscent ascent =
      ascend_by_roots(elbo, {model.start(), .3 * Matrix::Identity(6, 6)}, 1e-6, 500, test::kGoOn);
  const double log_determinant = 2 * ascent.at.root.diagonal().array().log().sum();
  EXPECT_NEAR(elbo.full_rank(ascent.at.mean, ascent.at.root, log_determinant).elbo, newton.elbo,
              kExactTolerance);
}

// One event under a wide prior: the rates' expectations are exp(mean + variance / 2), and E[-Hessian] with
// them. Newton steps alone were at the limit of 500, some hundredths to whole nats below the optimum.
TEST(ExactFullRank, ConvergesForOneEventUnderAWidePrior) {
  for (const Index cols : {2, 3, 6, 9})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const RowMatrix x = test::design(12, cols, seed);
      Vector y = Vector::Zero(12);
      y(3) = 1;
      const Regression model = test::regression(Kind::poisson, Design::own(x), y, NormalPriorOptions{1000});
      Workers workers(1);
      ExactElbo elbo(*model.expectations(), workers);
      const FullRankFit fit = fit_full_rank(elbo, model.start(), test::kGoOn);
      ASSERT_TRUE(fit.stop.converged) << cols << " columns, seed " << seed;
      EXPECT_LT(fit.stop.predicted_gain, kExactTolerance);
      // A gain of 1e-4 nats is .014 in the mean's gradient, in sds, and twice that in the precision.
      EXPECT_LT((fit.root.transpose() * fit.gradient).norm(), .02);
      EXPECT_LT((fit.root.transpose() * fit.curvature * fit.root - Matrix::Identity(cols, cols)).norm(), .03);
    }
}

}  // namespace
}  // namespace magva
