// Hyper-parameters and all others together, against dense matrices.
#include "mixture/joint_precision.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include "support/targets.hpp"

namespace magva {
namespace {

constexpr Index kOthers = 12;
constexpr double kWeight = 100;

/// Of one hyper-parameter and a walk whose level hardly anything but its sum tells.
struct WalkWithSum {
  Matrix sparse = Matrix::Zero(kOthers + 1, kOthers + 1);
  Matrix whole;
  PatternEntries entries;

  explicit WalkWithSum(Index members_of_pattern) {
    sparse(0, 0) = 500;
    SumTerm sum{{}, kWeight};
    for (Index i = 1; i <= kOthers; ++i) {
      sparse(i, i) += 1e-3;
      if (i <= members_of_pattern) sparse(i, 0) = sparse(0, i) = 1 + .1 * static_cast<double>(i);
      if (i > 1) {
        sparse(i, i) += 1;
        sparse(i - 1, i - 1) += 1;
        sparse(i, i - 1) = sparse(i - 1, i) = -1;
      }
      sum.members.push_back(i);
    }
    whole = sparse;
    whole.bottomRightCorner(kOthers, kOthers).array() += kWeight;
    for (Index j = 0; j <= kOthers; ++j)
      for (Index i = j; i <= kOthers; ++i)
        if (sparse(i, j) != 0) {
          entries.rows.push_back(i);
          entries.columns.push_back(j);
        }
    entries.sums.push_back(sum);
  }
};

// The hyper-parameter moves all others, or some: then the joint matrix has entries that the pattern has not.
TEST(JointPrecision, IsPositiveDefiniteWhereOnlySumsTellALevel) {
  for (const Index members : {kOthers, kOthers / 2}) {
    const WalkWithSum walk(members);
    const auto target = test::gaussian_target(Vector::Zero(kOthers + 1), walk.whole.inverse(), 0);
    Evaluator evaluator(target, 1);
    const auto pattern = std::make_shared<const HessianPattern>(kOthers + 1, walk.entries);
    ConditionalFit fit(evaluator, pattern, {0}, Vector::Constant(kOthers + 1, 1e-3), 1);
    const auto given = fit.first(Vector::Zero(kOthers + 1));
    ASSERT_TRUE(given.has_value());

    const Matrix others = walk.whole.bottomRightCorner(kOthers, kOthers);
    const Vector cross = walk.whole.col(0).tail(kOthers);
    Matrix expected = walk.whole;
    expected(0, 0) = 1 / .25 + cross.dot(others.llt().solve(cross));
    Matrix beside_sums = expected;
    beside_sums.bottomRightCorner(kOthers, kOthers).array() -= kWeight;
    ASSERT_LT(Eigen::SelfAdjointEigenSolver<Matrix>(beside_sums).eigenvalues()(0), 0);

    const auto found = JointPrecision(fit).make(*given, Matrix::Constant(1, 1, .25));
    ASSERT_NE(found, nullptr) << members;
    const Matrix identity = Matrix::Identity(kOthers + 1, kOthers + 1);
    EXPECT_LT((found->times(identity) - expected).cwiseAbs().maxCoeff(), 1e-6);
    EXPECT_LT((found->solve(identity) - expected.inverse()).cwiseAbs().maxCoeff(), 1e-6);
    EXPECT_NEAR(found->solve(identity)(0, 0), .25, 1e-6);
  }
}

}  // namespace
}  // namespace magva
