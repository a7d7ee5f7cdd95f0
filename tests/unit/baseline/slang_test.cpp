#include "experiments/slang.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "algorithm1/fitter.hpp"
#include "magva/error.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

RowMatrix small_design(Index n, Index m) {
  RowMatrix x = test::random_matrix(n, m, 11);
  x.col(0).setOnes();
  return x;
}

Vector zero_one_labels(Index n) { return (test::random_labels(n, 12).array() + 1) / 2; }

double sigmoid(double eta) { return 1 / (1 + std::exp(-eta)); }

TEST(LowRankPrecision, AgreesWithDenseAlgebra) {
  const Index m = 7;
  const Matrix u = test::random_matrix(m, 3, 1);
  const Vector d = test::random_matrix(m, 1, 2).cwiseAbs().array() + .5;
  const Vector mean = test::random_matrix(m, 1, 3);
  const LowRankPrecision q(mean, u, d);
  Matrix precision = u * u.transpose();
  precision.diagonal() += d;
  const Matrix covariance = precision.inverse();
  const Vector v = test::random_matrix(m, 1, 4);
  EXPECT_LT((q.times_covariance(v) - covariance * v).norm(), 1e-12);
  const Matrix root = q.from_noise(Matrix::Identity(m, m)).colwise() - mean;
  EXPECT_LT((root * root.transpose() - covariance).norm(), 1e-12);
  const double entropy = .5 * std::log((2 * std::numbers::pi * std::numbers::e * covariance).determinant());
  EXPECT_NEAR(q.entropy(), entropy, 1e-11);
}

TEST(LeadingPart, IsTheBestApproximationFromEitherGramMatrix) {
  for (const auto& [rows, cols] : {std::pair<Index, Index>{9, 5}, {5, 9}}) {
    const Matrix c = test::random_matrix(rows, cols, 5);
    const Eigen::JacobiSVD<Matrix> svd(c);
    const Matrix u = leading_part(c, 3);
    const double left = (c * c.transpose() - u * u.transpose()).norm();
    EXPECT_NEAR(left, std::sqrt(svd.singularValues().tail(2).array().pow(4).sum()), 1e-10);
  }
}

// With as many factors as parameters nothing is lost by the projection: the step is the dense natural
// gradient's.
TEST(Slang, StepsOfFullRankAreDenseNaturalGradientSteps) {
  const Index n = 20, m = 5;
  const RowMatrix x = small_design(n, m);
  const Vector y = zero_one_labels(n);
  for (const Index batch : {n, Index{6}}) {
    SlangOptions options;
    options.rank = m;
    options.batch = batch;
    options.decay = .3;
    Slang slang(x, y, options);
    Vector mean = Vector::Zero(m);
    Matrix precision = Matrix::Identity(m, m) * options.initial_precision;
    for (std::int64_t t = 0; t < 4; ++t) {
      const Vector theta = slang.posterior().from_noise(slang.noise(t));
      const double shrink = std::pow(1. + static_cast<double>(t), -options.decay);
      const double beta = options.precision_step * shrink;
      Vector gradient = mean / options.prior_variance;
      Matrix fisher = Matrix::Identity(m, m) / options.prior_variance;
      for (const Index i : slang.batch(t)) {
        const double scale = static_cast<double>(n) / static_cast<double>(batch);
        const Vector g = (sigmoid(x.row(i).dot(theta)) - y(i)) * x.row(i).transpose();
        gradient += scale * g;
        fisher += scale * g * g.transpose();
      }
      precision = (1 - beta) * precision + beta * fisher;
      mean -= options.mean_step * shrink * precision.llt().solve(gradient);
      slang.step();
      const auto& q = slang.posterior();
      Matrix ours = q.factors() * q.factors().transpose();
      ours.diagonal() += q.diagonal();
      EXPECT_LT((ours - precision).norm(), 1e-11 * precision.norm()) << "step " << t;
      EXPECT_LT((q.mean() - mean).norm(), 1e-11) << "step " << t;
    }
  }
}

TEST(Slang, ADiagonalCorrectionKeepsTheDiagonalOfThePrecision) {
  const Index n = 30, m = 8;
  SlangOptions low, full;
  low.rank = 2;
  full.rank = m;
  low.batch = full.batch = n;
  Slang a(small_design(n, m), zero_one_labels(n), low), b(small_design(n, m), zero_one_labels(n), full);
  a.step();
  b.step();
  const auto diagonal = [](const LowRankPrecision& q) -> Vector {
    return q.factors().rowwise().squaredNorm() + q.diagonal();
  };
  EXPECT_LT((diagonal(a.posterior()) - diagonal(b.posterior())).norm(), 1e-12);
}

// With the Hessian as curvature the fixed point is the optimum of the dense Gaussian family. The reference is
// found by an independent route, the engine's full-rank family with decaying steps and averaging.
TEST(Slang, ReachesTheDenseOptimum) {
  const Index n = 60, m = 4;
  const RowMatrix x = small_design(n, m);
  const Vector y = zero_one_labels(n);
  SlangOptions options;
  options.rank = m;
  options.batch = n;
  options.mean_step = options.precision_step = .5;
  options.decay = .75;
  options.curvature = SlangCurvature::kGaussNewton;
  Slang slang(x, y, options);
  for (int t = 0; t < 20000; ++t) slang.step();

  const auto model = test::logistic_target(Matrix(x), 2 * y.array() - 1, options.prior_variance);
  FitterOptions dense;
  dense.family = FamilyKind::kFullRank;
  dense.mean_rule = dense.factor_rule = rule_defaults(RuleKind::kAdam);
  dense.estimator = Estimator::kPath;
  dense.draws = 10;
  dense.decay = StepDecay::kCosine;
  dense.average_last = .5;
  Fitter fitter(model, dense);
  const Gaussian best = fitter.run().posterior;
  const auto& q = slang.posterior();
  // The last step is .5 * 20000^-.75 = 3e-4, and a constant step a leaves the mean jittering by about sqrt(a
  // / 2) of its sd: .012. The bound is four times that, for the largest of four coordinates.
  EXPECT_LT(((q.mean() - best.mean()).array() / best.sd().array()).abs().maxCoeff(), .05);
  for (Index i = 0; i < m; ++i)
    EXPECT_NEAR(std::sqrt(q.times_covariance(Vector::Unit(m, i))(i)) / best.sd()(i), 1, .03);
}

TEST(Slang, RefusesWhatCannotBeMeant) {
  SlangOptions options;
  options.rank = 0;
  options.mean_step = 2;
  try {
    Slang(small_design(5, 2), zero_one_labels(5), options);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("rank is 0"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("mean_step is 2"), std::string::npos);
  }
  EXPECT_THROW(Slang(small_design(5, 2), Vector::Constant(5, 2.), SlangOptions{}), DataError);
  EXPECT_THROW(Slang(small_design(5, 2), zero_one_labels(4), SlangOptions{}), DataError);
}

}  // namespace
}  // namespace magva
