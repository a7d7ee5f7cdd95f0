// The laws of a manifold, for every manifold and random shapes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <Eigen/SVD>

#include "manifold/euclidean.hpp"
#include "manifold/fixed_rank.hpp"
#include "manifold/grassmann.hpp"
#include "manifold/stiefel.hpp"
#include "rule/block.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

// How far v is from the tangent (for quotients: horizontal) space at x, by that space's definition.
double off_tangent(const Euclidean&, const Matrix&, const Matrix&) { return 0; }
double off_tangent(const LowerTrapezoidal&, const Matrix&, const Matrix& v) {
  return Matrix(v.triangularView<Eigen::StrictlyUpper>()).norm();
}
double off_tangent(const Stiefel&, const Matrix& x, const Matrix& v) {
  return (x.transpose() * v + v.transpose() * x).norm();
}
double off_tangent(const Grassmann&, const Matrix& x, const Matrix& v) { return (x.transpose() * v).norm(); }
double off_tangent(const FixedRank&, const Matrix& x, const Matrix& v) {
  return (x.transpose() * v - v.transpose() * x).norm();
}

template <class M>
class ManifoldLaws : public testing::Test {};
using Manifolds = testing::Types<Euclidean, LowerTrapezoidal, Stiefel, Grassmann, FixedRank>;
TYPED_TEST_SUITE(ManifoldLaws, Manifolds);

TYPED_TEST(ManifoldLaws, HoldForRandomShapes) {
  const TypeParam manifold;
  const bool passed = rc::check(TypeParam::name, [&] {
    const auto m = static_cast<Index>(*rc::gen::inRange(1, 60));
    const auto p = static_cast<Index>(*rc::gen::inRange(1, static_cast<int>(std::min<Index>(m, 8)) + 1));
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    Workers workers;
    TallSkinny kernel(m, p, workers);
    const Matrix x = manifold.random_point(m, p, seed);
    const Matrix v = test::random_matrix(m, p, seed + 1);
    const double size = v.norm() * (1 + x.norm());
    RC_ASSERT(manifold.violation(x, kernel) < 1e-12);

    Matrix u(m, p);
    manifold.project(x, v, u, kernel);
    // Rank-p matrices near a rank-deficient one are badly conditioned: give the horizontal space slack there.
    const double slack = std::is_same_v<TypeParam, FixedRank>
                             ? 1e-10 / std::max(1e-8, x.jacobiSvd().singularValues().minCoeff())
                             : 1e-12;
    RC_ASSERT(off_tangent(manifold, x, u) <= slack * size);
    Matrix again(m, p);
    manifold.project(x, u, again, kernel);
    RC_ASSERT((again - u).norm() <= slack * size);
    // Orthogonality: what projection removes is normal to what it keeps.
    RC_ASSERT(std::abs((v - u).cwiseProduct(u).sum()) <= slack * size * size);

    Matrix y(m, p);
    manifold.retract(x, u, y, kernel);
    RC_ASSERT(manifold.violation(y, kernel) < 1e-12);
    // First order: R_x(tu) = x + tu + O(t^2), so halving t quarters the error.
    const double t = 1e-4;
    manifold.retract(x, t * u, y, kernel);
    RC_ASSERT((y - x - t * u).norm() <=
              2 * t * t * (1 + u.squaredNorm()) * std::sqrt(static_cast<double>(p)));
    manifold.retract(x, Matrix::Zero(m, p), y, kernel);
    RC_ASSERT((y - x).norm() <= 1e-13 * (1 + x.norm()));

    const Matrix elsewhere = manifold.random_point(m, p, seed + 2);
    Matrix w(m, p);
    manifold.transport(elsewhere, u, w, kernel);
    const double elsewhere_slack =
        std::is_same_v<TypeParam, FixedRank>
            ? 1e-10 / std::max(1e-8, elsewhere.jacobiSvd().singularValues().minCoeff())
            : 1e-12;
    RC_ASSERT(off_tangent(manifold, elsewhere, w) <= elsewhere_slack * size * (1 + elsewhere.norm()));
  });
  EXPECT_TRUE(passed);
}

TYPED_TEST(ManifoldLaws, AllowAliasing) {
  const TypeParam manifold;
  Workers workers;
  TallSkinny kernel(30, 4, workers);
  const Matrix x = manifold.random_point(30, 4, 1);
  const Matrix v = test::random_matrix(30, 4, 2);
  Matrix apart(30, 4);
  manifold.project(x, v, apart, kernel);
  Matrix in_place = v;
  manifold.project(x, in_place, in_place, kernel);
  EXPECT_EQ(apart, in_place);
  Matrix y(30, 4);
  manifold.retract(x, apart, y, kernel);
  Matrix z = x;
  manifold.retract(z, apart, z, kernel);
  EXPECT_EQ(y, z);
}

TEST(Polar, IsTheNearestOrthonormalMatrixEvenForHugeAndIllConditionedInput) {
  Workers workers;
  TallSkinny kernel(40, 3, workers);
  for (const double scale : {1., 1e-3, 1e8, 1e200}) {
    Matrix a = test::random_matrix(40, 3, 7);
    a.col(1) *= 1e5;
    a *= scale;
    Matrix polar(40, 3);
    kernel.polar(a, polar);
    EXPECT_LT(Stiefel{}.violation(polar, kernel), 1e-12) << scale;
    const Eigen::JacobiSVD<Matrix> svd(a / scale, Eigen::ComputeThinU | Eigen::ComputeThinV);
    EXPECT_LT((polar - svd.matrixU() * svd.matrixV().transpose()).norm(), 1e-4) << scale;
  }
}

TEST(Stiefel, StaysOrthonormalOverAMillionSteps) {
  Workers workers;
  TallSkinny kernel(12, 3, workers);
  Matrix x = Stiefel{}.random_point(12, 3, 1);
  const auto update = make_update(ManifoldKind::kStiefel, rule_defaults(RuleKind::kMomentum), 12, 3);
  const Matrix pull = test::random_matrix(12, 3, 2);
  for (int t = 0; t < 1'000'000; ++t) {
    const Matrix g = (pull.array() * (1 + .1 * (t % 7)) - .5 * x.array()).matrix();
    update->step(x, g, -1, kernel);
  }
  EXPECT_LT(Stiefel{}.violation(x, kernel), 1e-12);
}

}  // namespace
}  // namespace magva
