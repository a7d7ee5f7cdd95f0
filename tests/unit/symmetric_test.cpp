#include "magva/symmetric.hpp"

#include <gtest/gtest.h>

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

TEST(InverseRoot, NearTheIdentityAndRefusedElsewhere) {
  const Index p = 6;
  const Matrix a = test::random_matrix(p, p, 3);
  Matrix root(p, p), work(p, p), work2(p, p);
  for (const double size : {0., 1e-12, 1e-3, .02}) {
    const Matrix g = Matrix::Identity(p, p) + size * a * a.transpose();
    ASSERT_TRUE(inverse_root_near_identity(g, root, work, work2)) << size;
    EXPECT_LT((root * g * root - Matrix::Identity(p, p)).norm(), 1e-14) << size;
  }
  EXPECT_FALSE(inverse_root_near_identity(100 * Matrix::Identity(p, p), root, work, work2));
  EXPECT_FALSE(inverse_root_near_identity(Matrix::Constant(p, p, std::nan("")), root, work, work2));
}

}  // namespace
}  // namespace magva
