#include "search/quadratic_objective.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include "search/quadratic_fit.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

// For sizes with and without whole vectors, and more than one panel of rows.
TEST(InverseRoot, SolvesWithBothTriangles) {
  for (const Index m : {1, 5, 8, 31, 32, 33, 70, 100})
    for (const Index columns : {1, 2, 4, 7}) {
      const Matrix cholesky = Eigen::LLT<Matrix>(test::random_precision(m, 3)).matrixL();
      const InverseRoot root(cholesky);
      const Matrix v = test::random_matrix(m, columns, 4);
      Matrix out(root.rows(), columns);
      root.times(v, out);
      EXPECT_LT((cholesky.transpose() * out.topRows(m) - v).norm(), 1e-10) << m << ", " << columns;
      root.transposed_times(v, out);
      EXPECT_LT((cholesky * out.topRows(m) - v).norm(), 1e-10) << m << ", " << columns;
    }
}

TEST(QuadraticObjective, HasTheQuadraticsValueAndItsGradient) {
  for (const auto& [m, rank] : {std::pair{6, 1}, {19, 3}, {40, 4}}) {
    const Matrix precision = test::random_precision(m, 5);
    const Matrix cholesky = Eigen::LLT<Matrix>(precision).matrixL();
    const Vector sd = precision.diagonal().cwiseSqrt().cwiseInverse();
    const InverseRoot root(cholesky);
    QuadraticObjective objective(cholesky, root, sd, rank);
    const Matrix factors = sd.asDiagonal() * test::random_matrix(m, rank, 6);
    const Vector residual_sd = sd.array() * (.3 * test::random_matrix(m, 1, 7).col(0)).array().exp();
    const Vector at = objective.coordinates(factors, residual_sd);
    EXPECT_LT((objective.factors(at) - factors).norm(), 1e-10);
    EXPECT_LT((objective.residual_sd(at) - residual_sd).norm(), 1e-10);
    Vector gradient(at.size());
    Vector ignored(at.size());
    EXPECT_NEAR(objective(at, gradient), QuadraticFitter(precision).value(factors, residual_sd), 1e-9);
    const double h = 1e-5;
    for (Index j = 0; j < at.size(); ++j) {
      const Vector away = h * Vector::Unit(at.size(), j);
      const double above = objective(at + away, ignored);
      const double below = objective(at - away, ignored);
      EXPECT_NEAR(gradient(j), (above - below) / (2 * h), 1e-7 * (1 + gradient.norm()));
    }
  }
}

}  // namespace
}  // namespace magva
