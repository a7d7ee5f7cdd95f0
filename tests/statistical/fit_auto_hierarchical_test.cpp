// The default on posteriors with hundreds of parameters whose correlations matter.
#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>
#include <numbers>
#include <utility>

#include "core/noise.hpp"
#include "fit/runs.hpp"
#include "magva/fit.hpp"
#include "refine/refinement.hpp"
#include "support/targets.hpp"
#include "targets.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

/// Counts y_t ~ Poisson(exp(x_t)) of a random walk x with a normal start. E log h under a Gaussian is known,
/// and so is its best one: E[-Hessian] is the walk's precision and the expected rates on the diagonal.
class CountsOfAWalk {
 public:
  explicit CountsOfAWalk(Index size) : counts_(size), precision_(Matrix::Zero(size, size)) {
    constexpr double kStepVariance = .01;
    precision_(0, 0) = 1;
    for (Index t = 1; t < size; ++t) {
      precision_(t, t) += 1 / kStepVariance;
      precision_(t - 1, t - 1) += 1 / kStepVariance;
      precision_(t, t - 1) = precision_(t - 1, t) = -1 / kStepVariance;
    }
    for (Index t = 0; t < size; ++t) counts_(t) = static_cast<double>((7 * t + t / 3) % 5);
  }

  auto model() const {
    return make_model(counts_.size(),
                      [counts = counts_, precision = precision_](ConstVectorRef theta, VectorRef gradient) {
                        const Vector rate = theta.array().exp();
                        const Vector pull = precision * theta;
                        gradient = counts - rate - pull;
                        return counts.dot(theta) - rate.sum() - .5 * theta.dot(pull);
                      });
  }

  double elbo(const Gaussian& q) const {
    const Matrix& root = q.factors();
    return counts_.dot(q.mean()) - rates(q.mean(), q.sd()).sum() -
           .5 * (q.mean().dot(precision_ * q.mean()) + (precision_ * root).cwiseProduct(root).sum()) +
           .5 * (q.log_determinant() +
                 static_cast<double>(q.dimension()) * (1 + std::log(2 * std::numbers::pi)));
  }

  Gaussian best() const {
    const Index m = counts_.size();
    Vector mean = Vector::Zero(m);
    Vector sd = Vector::Zero(m);
    Matrix sigma;
    for (int k = 0; k < 60; ++k) {
      const Vector rate = rates(mean, sd);
      const Eigen::LLT<Matrix> llt(precision_ + Matrix(rate.asDiagonal()));
      mean += llt.solve(counts_ - rate - precision_ * mean);
      sigma = llt.solve(Matrix::Identity(m, m));
      sd = sigma.diagonal().cwiseSqrt();
    }
    return Gaussian::dense(mean, Eigen::LLT<Matrix>(sigma).matrixL());
  }

 private:
  static Vector rates(const Vector& mean, const Vector& sd) {
    return (mean.array() + .5 * sd.array().square()).exp();
  }

  Vector counts_;
  Matrix precision_;
};

TEST(FitAutoHierarchical, AStateSpaceModelGetsFullRankAndIsWithinThePromise) {
  constexpr Index kSize = 200;
  const CountsOfAWalk walk(kSize);
  FitOptions options;
  options.starts = 1;
  options.diagnostic_draws = 400;
  const FitResult result = fit(walk.model(), options);
  EXPECT_EQ(result.stopped, StopReason::kConverged) << result.stop_detail;
  EXPECT_EQ(result.posterior.kind(), GaussianKind::kFullRank);
  EXPECT_EQ(result.rank_path.back().rank, kSize);
  const Gaussian best = walk.best();
  EXPECT_LT(walk.elbo(result.posterior), walk.elbo(best) + 1e-6);
  EXPECT_GT(walk.elbo(result.posterior), walk.elbo(best) - promised_nats(kSize));
  EXPECT_LT((result.posterior.sd().array() / best.sd().array()).log().abs().maxCoeff(), .1);
}

// Neighbours with correlation .95 and scales from 1e-3 to 1e3: no few factors have them.
TEST(FitAutoHierarchical, AChainGetsFullRank) {
  FitOptions options;
  options.starts = 1;
  options.diagnostic_draws = 400;
  const FitResult result = fit(targets::chain(160), options);
  EXPECT_EQ(result.stopped, StopReason::kConverged) << result.stop_detail;
  EXPECT_EQ(result.posterior.rank(), 160);
  EXPECT_NEAR(result.elbo, 0, promised_nats(160));
}

// 150 coefficients of 200 rows correlate in as many ways: no few factors have these, with draws or without.
TEST(FitAutoHierarchical, AWideRegressionGetsFullRank) {
  const RowMatrix x = test::design(200, 150, 2);
  const Regression model =
      test::regression(test::Kind::logistic, Design::own(x), test::responses(test::Kind::logistic, x, 3),
                       NormalPriorOptions{});
  FitOptions options;
  options.diagnostic_draws = 100;
  const FitResult full = fit(model, options);
  EXPECT_EQ(full.posterior.kind(), GaussianKind::kFullRank);
  EXPECT_EQ(full.rank_path.back().rank, 150);
  options.rank = 16;
  EXPECT_GT(full.elbo, fit(model, options).elbo + 10);
}

// A mean with 300 observed deviations from it: one factor has all correlations, and more would only cost.
TEST(FitAutoHierarchical, OneCommonMeanNeedsOneFactor) {
  constexpr Index kSize = 300;
  const Matrix covariance = Matrix::Identity(kSize, kSize) + Matrix::Ones(kSize, kSize);
  FitOptions options;
  options.starts = 1;
  options.diagnostic_draws = 400;
  const FitResult result = fit(test::gaussian_target(Vector::Zero(kSize), covariance, 0), options);
  EXPECT_EQ(result.posterior.rank(), 1);
  EXPECT_TRUE(result.trusted);
}

/// Normals around (-3, ..., -3) with a narrower scale, and around (3, ..., 3) with ten times the mass.
auto unequal_modes(Index m) {
  return make_model(m, [m](ConstVectorRef theta, VectorRef gradient) {
    constexpr double kNarrow = .5;
    const double wide = std::log(10.) - .5 * (theta.array() - 3).square().sum();
    const double narrow = -.5 * (theta.array() + 3).square().sum() / (kNarrow * kNarrow) -
                          static_cast<double>(m) * std::log(kNarrow);
    const double top = std::max(wide, narrow);
    const double sum = std::exp(wide - top) + std::exp(narrow - top);
    const double share = std::exp(wide - top) / sum;
    gradient = -(theta.array() - 3) * share - (theta.array() + 3) / (kNarrow * kNarrow) * (1 - share);
    return top + std::log(sum);
  });
}

// The narrow mode has the higher density by far: 20 log 2 - log 10 = 11.6 nats.
TEST(FitAutoHierarchical, TheModeWithMoreMassWins) {
  constexpr Index kSize = 20;
  for (const double start : {0., 3.})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      FitOptions options;
      options.init = Vector::Constant(kSize, start);
      options.seed = seed;
      options.starts = 12;
      options.diagnostic_draws = 400;
      const FitResult result = fit(unequal_modes(kSize), options);
      EXPECT_NEAR(result.posterior.mean()(0), 3, .2) << start << ' ' << seed;
    }
}

// From far too wide a start the rates overflow; whatever is thrown away on the way, the ELBO of what would be
// returned never falls by more than the noise of a batch allows.
TEST(FitAutoHierarchical, ARefinementIsNeverMuchWorseThanWhereItWas) {
  constexpr Index kSize = 150;
  const CountsOfAWalk walk(kSize);
  const auto model = walk.model();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Evaluator evaluator(model, 1);
    GaussianStart start{Vector::Constant(kSize, 2), make_full_rank(.25 * Matrix::Identity(kSize, kSize)),
                        nullptr};
    Refinement refinement(evaluator, std::move(start), seed, promised_nats(kSize));
    const double first = walk.elbo(refinement.posterior());
    double highest = first;
    for (int k = 0; k < 60 && refinement.status() == RefinementStatus::kRunning; ++k) {
      refinement.step();
      const double elbo = walk.elbo(refinement.posterior());
      EXPECT_GT(elbo, highest - 20) << seed << ' ' << k;
      highest = std::max(highest, elbo);
    }
    EXPECT_GT(highest, first + 1000);
  }
}

}  // namespace
}  // namespace magva
