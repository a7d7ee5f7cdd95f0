// The Hessian's pattern, its colours, and Gaussians whose precision has it.
#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <cmath>

#include "core/noise.hpp"
#include "sparse/positive_precision.hpp"
#include "sparse/sparse_precision.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

constexpr Index kGlobals = 3;
constexpr Index kSize = 120;

/// Three parameters on which all depend, a chain of the others, and fourth powers of all. Linear terms keep
/// the derivatives away from 0.
double hierarchy_density(ConstVectorRef theta, VectorRef gradient) {
  double sum = 0;
  gradient.setZero();
  const auto add = [&](Index i, Index j, double weight) {  // a term of theta_i - theta_j
    const double d = theta(i) - theta(j);
    sum -= weight * (.5 * d * d + .1 * d * d * d * d);
    const double slope = weight * (d + .4 * d * d * d);
    gradient(i) -= slope;
    gradient(j) += slope;
  };
  for (Index i = 0; i < kSize; ++i) {
    sum -= .5 * theta(i) * theta(i) - .3 * theta(i);
    gradient(i) += .3 - theta(i);
    for (Index g = 0; g < kGlobals; ++g)
      if (i >= kGlobals) add(i, g, .2 + .1 * static_cast<double>(g));
    if (i > kGlobals) add(i, i - 1, 2);
  }
  return sum;
}
auto hierarchy() { return make_model(kSize, &hierarchy_density); }

Matrix dense(const HessianPattern& pattern, const Vector& values) {
  return pattern.structure()->times(values, Matrix::Identity(kSize, kSize));
}

Matrix plain_curvature(Evaluator& evaluator, const Vector& at) {
  Matrix out(kSize, kSize);
  Vector above(kSize), below(kSize);
  constexpr double kStep = 1e-5;
  for (Index i = 0; i < kSize; ++i) {
    Vector theta = at;
    theta(i) += kStep;
    evaluator.evaluate(theta, above);
    theta(i) -= 2 * kStep;
    evaluator.evaluate(theta, below);
    out.col(i) = (below - above) / (2 * kStep);
  }
  return out;
}

struct SparseHessian : ::testing::Test {
  SparseHessian() { pattern = find_hessian_pattern(evaluator, Vector::Zero(kSize), Vector::Ones(kSize), 1); }

  Vector curvature_at(const Vector& at, double length) {
    Vector gradient(kSize);
    evaluator.evaluate(at, gradient);
    return pattern->curvature(evaluator, at, gradient, Vector::Constant(kSize, length), {1}).col(0);
  }

  decltype(hierarchy()) model = hierarchy();
  Evaluator evaluator{model, 1};
  std::shared_ptr<const HessianPattern> pattern;
};

TEST_F(SparseHessian, IsFoundWithAFewColours) {
  ASSERT_TRUE(pattern);
  // All of the diagonal, three full rows but for the globals' own square, and the chain.
  EXPECT_EQ(pattern->entries(), kSize + kGlobals * (kSize - kGlobals) + kSize - kGlobals - 1);
  EXPECT_LE(pattern->colours(), kGlobals + 4);
}

TEST_F(SparseHessian, ColouredDifferencesAreThePlainOnes) {
  const Vector at = test::random_matrix(kSize, 1, 3);
  const Matrix expected = plain_curvature(evaluator, at);
  EXPECT_LT((dense(*pattern, curvature_at(at, 1e-6)) - expected).cwiseAbs().maxCoeff(), 1e-4);
}

TEST_F(SparseHessian, OfADenseModelIsNotSparse) {
  const Matrix x = test::random_matrix(2 * kSize, kSize, 5);
  const auto dense_model = test::gaussian_target(Vector::Zero(kSize), x.transpose() * x, 0);
  Evaluator other(dense_model, 1);
  EXPECT_FALSE(find_hessian_pattern(other, Vector::Zero(kSize), Vector::Ones(kSize), 1));
}

/// The same with soft constraints on two sums.
auto constrained_hierarchy() {
  return make_model(kSize, [](ConstVectorRef theta, VectorRef gradient) {
    double value = hierarchy_density(theta, gradient);
    const auto constrain = [&](Index first, Index count, double weight) {
      const double sum = theta.segment(first, count).sum();
      value -= .5 * weight * sum * sum;
      gradient.segment(first, count).array() -= weight * sum;
    };
    constrain(10, 40, 3);
    constrain(60, 50, .5);
    return value;
  });
}

struct ConstrainedHessian : ::testing::Test {
  decltype(constrained_hierarchy()) model = constrained_hierarchy();
  Evaluator evaluator{model, 1};
  std::shared_ptr<const HessianPattern> pattern =
      find_hessian_pattern(evaluator, Vector::Zero(kSize), Vector::Ones(kSize), 1);

  Vector curvature_at(const Vector& at) {
    Vector gradient(kSize);
    evaluator.evaluate(at, gradient);
    return pattern->curvature(evaluator, at, gradient, Vector::Constant(kSize, 1e-6), {1}).col(0);
  }
};

TEST_F(ConstrainedHessian, KeepsTheSumsApart) {
  ASSERT_TRUE(pattern);
  EXPECT_EQ(pattern->entries(), kSize + kGlobals * (kSize - kGlobals) + kSize - kGlobals - 1);
  ASSERT_EQ(pattern->sums().cols(), 2);
  EXPECT_EQ((pattern->sums().array() != 0).count(), 90);
  EXPECT_NEAR(pattern->sums()(10, 0) * pattern->sums()(49, 0), 3, 1e-6);
  EXPECT_NEAR(pattern->sums()(60, 1) * pattern->sums()(109, 1), .5, 1e-6);
}

TEST_F(ConstrainedHessian, IsThePlainOne) {
  const Vector at = test::random_matrix(kSize, 1, 3);
  const Matrix expected = plain_curvature(evaluator, at);
  const Vector values = curvature_at(at);
  EXPECT_LT((pattern->dense(values) - expected).cwiseAbs().maxCoeff(), 1e-4);
  EXPECT_LT((pattern->entries_of(expected) - values).cwiseAbs().maxCoeff(), 1e-4);
}

TEST_F(ConstrainedHessian, GivesAGaussian) {
  const Vector values = curvature_at(Vector::Zero(kSize));
  const auto covariance = make_sparse_precision(pattern, values);
  ASSERT_TRUE(covariance);
  const Matrix sigma = pattern->dense(values).llt().solve(Matrix::Identity(kSize, kSize));
  PairBatch batch;
  batch.noise = Matrix::Identity(covariance->noise_size(), covariance->noise_size());
  covariance->draw(batch);
  EXPECT_LT((batch.deviation * batch.deviation.transpose() - sigma).norm(), 1e-9 * sigma.norm());
  const Vector v = test::random_matrix(kSize, 1, 4);
  EXPECT_LT((covariance->times(v) - sigma * v).norm(), 1e-9 * (sigma * v).norm());
  const Gaussian q = covariance->gaussian(v);
  EXPECT_LT((q.sd() - sigma.diagonal().cwiseSqrt()).norm(), 1e-9);
  EXPECT_NEAR(covariance->log_determinant(), q.log_determinant(), 1e-8);
  const Vector ratio = covariance->rough_sd().cwiseQuotient(q.sd());
  EXPECT_GT(ratio.minCoeff(), .2);
  EXPECT_LT(ratio.maxCoeff(), 3);
}

// The mean of many effects moves all of them alike, and is no sum.
TEST(SparsePattern, OfAMeanIsNoSum) {
  const auto model = make_model(kSize, [](ConstVectorRef theta, VectorRef gradient) {
    const Vector sum = theta.tail(kSize - 1).array() + theta(0);
    gradient(0) = .3 - theta(0) - sum.sum();
    gradient.tail(kSize - 1) = .3 - sum.array();
    return .3 * theta.sum() - .5 * theta(0) * theta(0) - .5 * sum.squaredNorm();
  });
  Evaluator evaluator(model, 1);
  const auto pattern = find_hessian_pattern(evaluator, Vector::Zero(kSize), Vector::Ones(kSize), 1);
  ASSERT_TRUE(pattern);
  EXPECT_EQ(pattern->sums().cols(), 0);
  EXPECT_EQ(pattern->entries(), 2 * kSize - 1);
}

// Near the given point neighbours do not meet; elsewhere they do.
TEST(SparsePattern, ThatHoldsOnlyNearbyIsRefused) {
  const auto model = make_model(kSize, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = .3 - theta.array();
    double sum = .3 * theta.sum() - .5 * theta.squaredNorm();
    for (Index i = 1; i < kSize; ++i) {
      const double over = std::max(0., theta(0) + 2 * theta(i) - .5);
      sum -= .5 * over * over;
      gradient(0) -= over;
      gradient(i) -= 2 * over;
    }
    return sum;
  });
  Evaluator evaluator(model, 1);
  // With a scale so small that the first point sees no coordinate above the threshold, and checks as little,
  // the pattern is diagonal; with the right scale it is the whole arrow.
  const auto narrow = find_hessian_pattern(evaluator, Vector::Zero(kSize), Vector::Constant(kSize, 1e-3), 1);
  ASSERT_TRUE(narrow);
  EXPECT_EQ(narrow->entries(), kSize);
  const auto wide = find_hessian_pattern(evaluator, Vector::Zero(kSize), Vector::Ones(kSize), 1);
  EXPECT_TRUE(!wide || wide->entries() > kSize);
}

struct SparseGaussian : SparseHessian {
  SparseGaussian() {
    values = curvature_at(Vector::Zero(kSize), 1e-6);
    covariance = make_sparse_precision(pattern, values);
    precision = dense(*pattern, values);
    sigma = precision.llt().solve(Matrix::Identity(kSize, kSize));
  }
  Vector values;
  std::unique_ptr<Covariance> covariance;
  Matrix precision, sigma;
};

TEST_F(SparseGaussian, DrawsAndMomentsAreThoseOfThePrecision) {
  ASSERT_TRUE(covariance);
  PairBatch batch;
  batch.noise = Matrix::Identity(kSize, kSize);
  covariance->draw(batch);
  EXPECT_LT((batch.deviation * batch.deviation.transpose() - sigma).norm(), 1e-10 * sigma.norm());
  const Vector v = test::random_matrix(kSize, 1, 4);
  EXPECT_LT((covariance->times(v) - sigma * v).norm(), 1e-10 * (sigma * v).norm());
  const Gaussian q = covariance->gaussian(v);
  EXPECT_LT((q.sd() - sigma.diagonal().cwiseSqrt()).norm(), 1e-10);
  EXPECT_NEAR(covariance->log_determinant(), q.log_determinant(), 1e-9);
  EXPECT_LT((covariance->conditional_sd() - precision.diagonal().cwiseSqrt().cwiseInverse()).norm(), 1e-12);
}

// Half of the way from the precision to the curvature that the batch has seen.
TEST_F(SparseGaussian, AStepMixesPrecisions) {
  const Vector other =
      curvature_at(Vector::Constant(kSize, .1) + .1 * test::random_matrix(kSize, 1, 6), 1e-6);
  PairBatch batch;
  batch.noise = Matrix::Zero(kSize, 2);
  batch.curvature = other.replicate(1, 2);
  const CovarianceTangent differential = covariance->differential(batch, {0, 2}, nullptr);
  const CovarianceTangent direction = covariance->natural_gradient(differential, nullptr);
  EXPECT_LT((direction.factors.col(0) - (other - values)).norm(), 1e-12 * values.norm());
  covariance->move(direction, .5);
  EXPECT_LT((covariance->coordinates(nullptr).factors.col(0) - .5 * (values + other)).norm(),
            1e-10 * values.norm());
}

// Eight random directions estimate a squared length with a relative standard error of at most sqrt(2/8) = .5
// (it is that of the largest eigenvalue alone); four of these bound it.
TEST_F(SparseGaussian, TheLengthOfAStepIsFishers) {
  const Vector change = .2 * values.cwiseProduct(test::random_matrix(pattern->entries(), 1, 8).col(0));
  PairBatch batch;
  batch.noise = Matrix::Zero(kSize, 2);
  batch.curvature = (values + change).replicate(1, 2);
  const CovarianceTangent differential = covariance->differential(batch, {0, 2}, nullptr);
  const double found = inner(differential, covariance->natural_gradient(differential, nullptr));
  const Matrix relative = sigma * dense(*pattern, change);
  const double fisher = .5 * (relative * relative).trace();
  EXPECT_GT(found, 0);
  EXPECT_LT(std::abs(found / fisher - 1), 2);
}

/// Eigenvalues of the precision after a step, in units of that before it.
Vector relative_precisions(const Covariance& after, const HessianPattern& pattern, const Matrix& before) {
  const Matrix root = before.llt().matrixL();
  const Matrix now = dense(pattern, after.coordinates(nullptr).factors.col(0));
  const Matrix half = root.triangularView<Eigen::Lower>().solve(now);
  const Matrix unit = root.triangularView<Eigen::Lower>().solve(half.transpose());
  return unit.selfadjointView<Eigen::Lower>().eigenvalues();
}

// A curvature with some negative directions: the step takes away at most half of the precision in any
// direction, and still goes on where the curvature is larger than the precision.
TEST_F(SparseGaussian, AStepTowardsAnIndefiniteCurvatureIsDamped) {
  Vector change = .5 * values;
  Vector added = Vector::Zero(kSize);
  added.tail(10) = -3 * precision.diagonal().tail(10);
  pattern->add_to_diagonal(added, change);
  ASSERT_FALSE(make_sparse_precision(pattern, values + change));
  covariance->move({change, Vector::Zero(change.size())}, .5);
  const Vector relative = relative_precisions(*covariance, *pattern, precision);
  EXPECT_GE(relative.minCoeff(), .5 - 1e-9);
  EXPECT_GT(relative.maxCoeff(), 1.05);
}

// With nothing but directions that take away too much, the step is shortened.
TEST_F(SparseGaussian, AStepThatTakesAllAwayIsShortened) {
  covariance->move({-10 * values, Vector::Zero(values.size())}, 1);
  const Vector relative = relative_precisions(*covariance, *pattern, precision);
  EXPECT_GE(relative.minCoeff(), .5 - 1e-9);
  EXPECT_LE(relative.minCoeff(), 1);
}

TEST_F(SparseGaussian, RefusesWhatIsNotPositiveDefinite) {
  EXPECT_FALSE(make_sparse_precision(pattern, -values));
  const CovarianceTangent negative{-values, Vector::Zero(values.size())};
  EXPECT_FALSE(covariance->assign(negative));
  EXPECT_EQ(covariance->coordinates(nullptr).factors.col(0), values);
}

TEST_F(SparseGaussian, ADampedCurvatureIsPositiveDefinite) {
  const PositivePrecision as_found = make_positive(*pattern, values);
  EXPECT_EQ(as_found.damping, 0);
  EXPECT_EQ(as_found.precision->values(), values);
  const PositivePrecision damped = make_positive(*pattern, -values);
  ASSERT_TRUE(damped.precision);
  EXPECT_GT(damped.damping, 0);
  EXPECT_EQ(dense(*pattern, damped.precision->values()).llt().info(), Eigen::Success);
  EXPECT_FALSE(make_positive(*pattern, Vector::Constant(values.size(), NAN)).precision);
}

}  // namespace
}  // namespace magva
