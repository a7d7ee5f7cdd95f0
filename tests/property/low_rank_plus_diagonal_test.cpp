// Low rank plus diagonal against dense linear algebra, over shapes that include no factors, more columns than
// a kernel takes at once, and rows on both sides of a panel and of a task.
#include "core/low_rank_plus_diagonal.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <Eigen/Dense>

#include "support/targets.hpp"

namespace magva {
namespace {

struct Covariance {
  Matrix factors;
  Vector column_scales;
  Vector residual;  // of either sign

  Matrix dense() const {
    Matrix sigma = factors * column_scales.cwiseAbs2().asDiagonal() * factors.transpose();
    sigma.diagonal() += residual.cwiseAbs2();
    return sigma;
  }
};

Covariance make_covariance(Index m, Index p, unsigned seed) {
  const Vector signs = test::random_matrix(m, 1, seed + 1);
  return {test::random_matrix(m, p, seed), test::random_matrix(p, 1, seed + 2),
          signs.unaryExpr([](double x) { return x < 0 ? x - .3 : x + .3; })};
}

Covariance any_covariance() {
  const auto m = static_cast<Index>(*rc::gen::inRange(1, 140));
  const auto p = static_cast<Index>(*rc::gen::inRange(0, static_cast<int>(std::min<Index>(m, 9)) + 1));
  return make_covariance(m, p, *rc::gen::inRange(1U, 1000U));
}

Capacitance capacitance_of(const Covariance& c, TallSkinny& kernel) {
  Matrix gram(c.factors.cols(), c.factors.cols());
  precision_weighted_gram(c.factors, c.residual, gram, kernel);
  Capacitance out(c.factors.cols());
  out.compute(gram, c.column_scales);
  return out;
}

double distance(const Matrix& a, const Matrix& b) { return (a - b).norm() / (1 + b.norm()); }

constexpr double kTolerance = 1e-10;

void expect_dense_results(const Covariance& c, Index columns, int threads) {
  const Index m = c.residual.size(), p = c.factors.cols();
  Workers workers(threads);
  TallSkinny kernel(m, std::max<Index>(p, 3), workers);
  const Capacitance capacitance = capacitance_of(c, kernel);
  const LowRankPlusDiagonalView view(c.factors, c.column_scales, c.residual, capacitance);
  const Matrix sigma = c.dense();
  const Eigen::LLT<Matrix> llt(sigma);
  const Matrix v = test::random_matrix(m, columns, 5);
  const Matrix noise = test::random_matrix(p + m, columns, 6);
  const Matrix dev = c.factors * (c.column_scales.asDiagonal() * noise.topRows(p)) +
                     Matrix(c.residual.asDiagonal() * noise.bottomRows(m));
  Matrix out(m, columns);

  EXPECT_NEAR(view.log_determinant(), 2 * Vector(llt.matrixLLT().diagonal()).array().log().sum(),
              kTolerance * static_cast<double>(m));
  view.times(v, out, kernel);
  EXPECT_LT(distance(out, sigma * v), kTolerance);
  view.solve(v, out, kernel);
  EXPECT_LT(distance(out, llt.solve(v)), kTolerance);
  view.draw(noise, out, kernel);
  EXPECT_LT(distance(out, dev), kTolerance);
  view.solve_draw(noise, out, kernel);
  EXPECT_LT(distance(out, llt.solve(dev)), kTolerance);
  Vector diagonal(m);
  view.inverse_diagonal(diagonal, kernel);
  EXPECT_LT(distance(diagonal, llt.solve(Matrix::Identity(m, m)).diagonal()), kTolerance);
  Matrix in_place = v;
  view.solve(in_place, in_place, kernel);
  view.times(in_place, in_place, kernel);
  EXPECT_LT(distance(in_place, v), kTolerance);
}

RC_GTEST_PROP(LowRankPlusDiagonal, AgreesWithDenseAlgebra, ()) {
  const Covariance c = any_covariance();
  expect_dense_results(c, static_cast<Index>(*rc::gen::inRange(1, 9)), 1);
}

// Over several tasks and threads, where a dense inverse would take too long: inverses by what they invert.
TEST(LowRankPlusDiagonal, HoldsTogetherOverSeveralTasksAndThreads) {
  const Index m = 4200;
  for (const Index p : {0, 3, 6}) {
    const Covariance c = make_covariance(m, p, 3);
    Workers workers(2);
    TallSkinny kernel(m, std::max<Index>(p, 3), workers);
    const Capacitance capacitance = capacitance_of(c, kernel);
    const LowRankPlusDiagonalView view(c.factors, c.column_scales, c.residual, capacitance);
    const Matrix v = test::random_matrix(m, 4, 5);
    const Matrix expected =
        c.factors * (c.column_scales.cwiseAbs2().asDiagonal() * (c.factors.transpose() * v)) +
        Matrix(c.residual.cwiseAbs2().asDiagonal() * v);
    Matrix out(m, 4);
    view.times(v, out, kernel);
    EXPECT_LT(distance(out, expected), kTolerance) << p;
    view.solve(out, out, kernel);
    EXPECT_LT(distance(out, v), kTolerance) << p;
    Vector diagonal(m);
    view.inverse_diagonal(diagonal, kernel);
    for (const Index i : {Index{0}, Index{2100}, m - 1}) {
      Vector unit = Vector::Unit(m, i);
      view.solve(unit, unit, kernel);
      EXPECT_NEAR(diagonal(i), unit(i), kTolerance * std::abs(unit(i))) << p;
    }
  }
}

RC_GTEST_PROP(LowRankPlusDiagonal, TheRootOfTheInverseSquaresToTheInverse, ()) {
  const Covariance c = any_covariance();
  const Index m = c.residual.size();
  Workers workers;
  TallSkinny kernel(m, std::max<Index>(c.factors.cols(), 2), workers);
  const Capacitance capacitance = capacitance_of(c, kernel);
  const LowRankPlusDiagonalView view(c.factors, c.column_scales, c.residual, capacitance);
  Matrix root(m, m);
  view.draw_inverse(Matrix::Identity(m, m), root, kernel);
  EXPECT_LT(distance(root * root.transpose(), c.dense().llt().solve(Matrix::Identity(m, m))), kTolerance);
}

// What returns values is what works in place, to the bit, column by column.
RC_GTEST_PROP(LowRankPlusDiagonal, ColumnsDoNotDependOnEachOther, ()) {
  const Covariance c = any_covariance();
  const Index m = c.residual.size(), p = c.factors.cols();
  const LowRankPlusDiagonal sigma(c.factors, c.residual);
  const Matrix v = test::random_matrix(m, 40, 7);
  const Matrix noise = test::random_matrix(p + m, 40, 8);
  const Matrix times = sigma.times(v), solved = sigma.solve(v), drawn = sigma.draw(noise);
  for (const Index j : {0, 31, 39}) {
    RC_ASSERT(sigma.times(v.col(j)) == times.col(j));
    RC_ASSERT(sigma.solve(v.col(j)) == solved.col(j));
    RC_ASSERT(sigma.draw(noise.col(j)) == drawn.col(j));
  }
}

// Residual sds near zero beside large factors, as factor analysis has in a Heywood case: the inverse is known
// from its definition where the dense inverse has lost all digits.
TEST(LowRankPlusDiagonal, KeepsDigitsWhereResidualsNearlyVanish) {
  Covariance c = make_covariance(30, 4, 9);
  c.residual.head(3).setConstant(1e-5);
  const LowRankPlusDiagonal sigma(c.factors, c.residual);
  const Matrix v = test::random_matrix(30, 2, 10);
  // Sigma's eigenvalues go from 1e-10 to some 40: one rounding error of 2e-16 becomes 9e-5. Compilers that
  // fuse products and sums or do not make several of them.
  EXPECT_LT(distance(sigma.times(sigma.solve(v)), v), 5e-4);
  const Vector by_columns = sigma.solve(Matrix::Identity(30, 30)).diagonal();
  EXPECT_LT(((sigma.inverse_diagonal() - by_columns).array() / by_columns.array()).abs().maxCoeff(), 1e-5);
}

TEST(LowRankPlusDiagonal, AssignsAnotherMatrixInPlace) {
  const Covariance first = make_covariance(20, 3, 11), second = make_covariance(20, 3, 14);
  Workers workers;
  TallSkinny kernel(20, 3, workers);
  LowRankPlusDiagonal sigma(first.factors, first.residual);
  sigma.assign(second.factors, second.residual, kernel);
  const LowRankPlusDiagonal fresh(second.factors, second.residual);
  const Matrix v = test::random_matrix(20, 2, 12);
  EXPECT_EQ(sigma.solve(v), fresh.solve(v));
  EXPECT_EQ(sigma.log_determinant(), fresh.log_determinant());
}

TEST(Capacitance, SaysThatAMatrixIsNotPositiveDefinite) {
  Capacitance capacitance(2);
  capacitance.compute(-3 * Matrix::Identity(2, 2));
  EXPECT_TRUE(std::isnan(capacitance.log_determinant()));
}

}  // namespace
}  // namespace magva
