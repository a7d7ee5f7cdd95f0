// Estimated sds against the dense system: what one draw becomes, and whether errors are as large as is said.
#include "sd_for/estimated_sds.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include <cmath>

#include "exact/elbo.hpp"
#include "magva/priors.hpp"
#include "sd_for/sampled_columns.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

constexpr std::int64_t kNoLimit = 1'000'000;

struct Problem {
  const char* name;
  test::Kind kind;
  RowMatrix x;
  double variance;

  Regression model() const {
    return test::regression(kind, Design::own(x), test::responses(kind, x, 12),
                            NormalPriorOptions{.variance = variance});
  }
};

Problem independent() { return {"independent", test::Kind::logistic, test::design(150, 60, 11), 2}; }

/// Neighbours are correlated, so that sds are several times too small.
Problem chain() {
  RowMatrix x = test::design(150, 60, 13);
  for (Index j = 2; j < x.cols(); ++j) x.col(j) = .9 * x.col(j - 1) + .4 * x.col(j);
  return {"chain", test::Kind::logistic, x, 10};
}

/// More columns than rows, and counts that are large: precisions that differ by 1e4.
Problem wide() { return {"wide", test::Kind::poisson, test::design(30, 70, 14), 1}; }

Gaussian fit_of_rank(const Regression& model, Index rank) {
  FitOptions options;
  options.rank = rank;
  return fit(model, options).posterior.without_correction();
}

/// A fitted Gaussian with C = E[-Hessian] under it.
struct FittedCurvature {
  Regression model;
  Gaussian q;
  Matrix curvature;

  FittedCurvature(const Problem& problem, Index rank)
      : model(problem.model()), q(fit_of_rank(model, rank)), curvature(dense_curvature()) {}

  CurvatureTimes times() const {
    return [this](const Matrix& v) { return Matrix(curvature * v); };
  }
  Vector sd() const { return curvature.inverse().diagonal().cwiseSqrt(); }

 private:
  Matrix dense_curvature() const {
    Workers workers(1);
    return ExactElbo(*model.expectations(), workers)
        .low_rank(q.mean(), q.factors(), q.residual_sd())
        .curvature;
  }
};

TEST(EstimatedSds, ProductsAreThoseWithTheDenseCurvature) {
  const FittedCurvature at(wide(), 2);
  Workers workers(1);
  ExactElbo elbo(*at.model.expectations(), workers);
  const Matrix v = at.q.draws(3, 1).colwise() - at.q.mean();
  const Matrix found = curvature_times(elbo, at.q, v);
  const Matrix wanted = at.curvature * v;
  EXPECT_LT((found - wanted).norm(), 1e-7 * wanted.norm());
}

// (Sigma C)^(-1/2) = R (R' C R)^(-1/2) R^-1, R the symmetric root of Sigma.
TEST(EstimatedSds, LanczosIterationFindsTheInverseRoot) {
  for (const Problem& problem : {independent(), chain(), wide()}) {
    const FittedCurvature at(problem, 2);
    const Index m = at.q.dimension();
    const Eigen::SelfAdjointEigenSolver<Matrix> sigma(at.q.times(Matrix::Identity(m, m)));
    const Matrix root = sigma.operatorSqrt();
    const Eigen::SelfAdjointEigenSolver<Matrix> white(root * at.curvature * root);
    const Matrix y = at.q.draws(3, 2).colwise() - at.q.mean();
    const Matrix wanted = root * white.operatorInverseSqrt() * sigma.operatorInverseSqrt() * y;
    const auto found = inverse_root_times(at.q, at.times(), y, kNoLimit);
    ASSERT_TRUE(found.has_value()) << problem.name;
    const Matrix error = sigma.operatorInverseSqrt() * (*found - wanted);
    EXPECT_LT(error.norm(), 2e-3 * (sigma.operatorInverseSqrt() * y).norm()) << problem.name;
  }
}

// Errors in units of their standard errors: mean square 1, and 5 % beyond 2. Coordinates of one seed are
// dependent, so six seeds, with a quarter of leeway for the former, about four standard errors.
TEST(EstimatedSds, HaveTheErrorsThatTheySay) {
  for (const Problem& problem : {independent(), chain(), wide()})
    for (const Index rank : {0, 3}) {
      const FittedCurvature at(problem, rank);
      const Vector sd = at.sd();
      EXPECT_GT((sd.array() / at.q.sd().array()).maxCoeff(), 1.3);  // there is something to correct
      double squares = 0, beyond = 0;
      constexpr int kSeeds = 6;
      for (int seed = 0; seed < kSeeds; ++seed) {
        const auto found = estimate_sds(at.q, at.times(), kNoLimit, 100 + static_cast<std::uint64_t>(seed));
        ASSERT_TRUE(found.has_value()) << problem.name;
        EXPECT_LE(found->se.maxCoeff(), kMostSdError);
        EXPECT_LE(found->draws, 224);
        const Vector z = (found->sd.array() / sd.array()).log() / found->se.array();
        squares += z.squaredNorm() / static_cast<double>(z.size() * kSeeds);
        beyond += static_cast<double>((z.array().abs() > 2).count()) / static_cast<double>(z.size() * kSeeds);
      }
      EXPECT_LT(squares, 1.25) << problem.name << rank;
      EXPECT_GT(squares, .6) << problem.name << rank;
      EXPECT_LT(beyond, .08) << problem.name << rank;
    }
}

// The same with C from gradients at two pairs of draws each.
TEST(EstimatedSds, FromGradientsAtDrawsHaveTheErrorsThatTheySay) {
  for (const Problem& problem : {independent(), chain()}) {
    const FittedCurvature at(problem, 2);
    const Vector sd = at.sd();
    Evaluator evaluator(at.model, 1);
    double squares = 0, mean = 0;
    constexpr int kSeeds = 6;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const MeanCurvature one(evaluator, at.q, 2, 200 + seed);
      const MeanCurvature other(evaluator, at.q, 2, 300 + seed);
      const auto found = estimate_sds(
          at.q, [&](const Matrix& v) { return one.times_unit_columns(v); },
          [&](const Matrix& v) { return other.times_unit_columns(v); }, kNoLimit, 100 + seed);
      ASSERT_TRUE(found.has_value()) << problem.name;
      const Vector z = (found->sd.array() / sd.array()).log() / found->se.array();
      squares += z.squaredNorm() / static_cast<double>(z.size() * kSeeds);
      mean += z.mean() / kSeeds;
    }
    EXPECT_LT(squares, 1.6) << problem.name;
    EXPECT_GT(squares, .4) << problem.name;
    EXPECT_LT(std::abs(mean), .5) << problem.name;
  }
}

TEST(EstimatedSds, AreThoseOfAGaussianThatIsRight) {
  const Gaussian q = Gaussian::low_rank(Vector::Zero(8), test::normals(8, 2, 5), Vector::Constant(8, .7));
  const auto found = estimate_sds(
      q, [&](const Matrix& v) { return q.solve(v); }, kNoLimit, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT((found->sd - q.sd()).norm(), 1e-8);
  EXPECT_LT(found->se.maxCoeff(), 4e-3);
}

TEST(EstimatedSds, AreTheSameForTheSameSeed) {
  const FittedCurvature at(chain(), 1);
  const auto a = estimate_sds(at.q, at.times(), kNoLimit, 3);
  const auto b = estimate_sds(at.q, at.times(), kNoLimit, 3);
  EXPECT_EQ(a->sd, b->sd);
  EXPECT_EQ(a->se, b->se);
}

TEST(EstimatedSds, AreLeftOutIfTheyTakeTooLongOrThereAreNone) {
  const FittedCurvature at(chain(), 1);
  EXPECT_FALSE(estimate_sds(at.q, at.times(), 20, 3).has_value());
  const auto saddle = [&](const Matrix& v) {
    Matrix image = at.q.solve(v);
    image.row(0) -= 50 / std::pow(at.q.sd()(0), 2) * v.row(0);
    return image;
  };
  EXPECT_FALSE(estimate_sds(at.q, saddle, kNoLimit, 3).has_value());
}

}  // namespace
}  // namespace magva
