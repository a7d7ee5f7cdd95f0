#include "core/symmetric.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "support/targets.hpp"

namespace magva {
namespace {

TEST(SymmetricEigen, Diagonalises) {
  for (const Index p : {1, 2, 5, 30}) {
    const Matrix a = test::random_matrix(p, p, 3);
    const Matrix s = a + a.transpose();
    SymmetricEigen solver(40);
    solver.compute(s);
    const Matrix v = solver.vectors();
    EXPECT_LT((v.transpose() * v - Matrix::Identity(p, p)).norm(), 1e-12);
    EXPECT_LT((s * v - v * solver.values().asDiagonal()).norm(), 1e-12 * s.norm() * static_cast<double>(p));
    for (Index i = 1; i < p; ++i) EXPECT_LE(solver.values()(i - 1), solver.values()(i));
  }
}

// Sizes on both sides of those that are known at compile time.
TEST(NewtonRoot, IsTheInverseRootOfWellConditionedMatricesAndRefusesOthers) {
  for (const Index p : {1, 3, 4, 6, 8, 10, 12, 13, 30}) {
    const Matrix a = test::random_matrix(p, p, 3) / std::sqrt(static_cast<double>(p));
    NewtonRoot newton(40);
    Matrix root(p, p);
    for (const double size : {0., 1e-12, 1e-3, .02, 1., 5.}) {
      for (const double scale : {1e-3, 1., 100.}) {
        const Matrix g = scale * (Matrix::Identity(p, p) + size * a * a.transpose());
        ASSERT_TRUE(newton.compute(g, root)) << p << " " << size;
        EXPECT_LT((root * g * root - Matrix::Identity(p, p)).norm(), 1e-13) << p << " " << size;
      }
    }
    EXPECT_FALSE(newton.compute(Matrix::Constant(p, p, std::nan("")), root));
    EXPECT_FALSE(newton.compute(-Matrix::Identity(p, p), root));
    if (p == 1) continue;
    Matrix lopsided = Matrix::Identity(p, p);
    lopsided(0, 0) = 1e9;
    EXPECT_FALSE(newton.compute(lopsided, root)) << p;
  }
}

TEST(InvertSpd, GivesTheInverseAndTheLogDeterminant) {
  for (const Index p : {1, 2, 5, 30}) {
    const Matrix a = test::random_matrix(p, p, 3);
    const Matrix c = Matrix::Identity(p, p) + a * a.transpose();
    Matrix inverse = c;
    const double log_det = invert_spd(inverse);
    EXPECT_LT((inverse * c - Matrix::Identity(p, p)).norm(), 1e-12);
    EXPECT_NEAR(log_det, std::log(c.determinant()), 1e-10);
  }
  Matrix indefinite = -Matrix::Identity(3, 3);
  EXPECT_TRUE(std::isnan(invert_spd(indefinite)));
}

}  // namespace
}  // namespace magva
