// Starts of the search over local maxima, on Gaussian posteriors.
#include "exact/structured_starts.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>

#include <cmath>

#include "exact/low_rank.hpp"
#include "search/quadratic_fit.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

/// Of a regression with `rows` rows whose columns have correlations of about .8, in conditional sds.
Matrix unit_precision(Index rows, Index m, std::uint64_t seed) {
  const Matrix x = .5 * test::normals(rows, m, seed) + test::normals(rows, 1, seed + 1).replicate(1, m);
  const Matrix a = x.transpose() * x + .1 * Matrix::Identity(m, m);
  const Vector c = a.diagonal().cwiseSqrt().cwiseInverse();
  return c.asDiagonal() * a * c.asDiagonal();
}

double gain_of(const Matrix& covariance, const std::vector<Index>& set) {
  return .5 * std::log(Matrix(covariance(set, set)).determinant());
}

TEST(ExplainedSets, AreTheBestOfAll) {
  const Index m = 14;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const Matrix covariance = unit_precision(10, m, 10 * seed).inverse();
    std::vector<double> gains;
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < i; ++j)
        for (Index k = 0; k < j; ++k) gains.push_back(gain_of(covariance, {k, j, i}));
    std::sort(gains.begin(), gains.end(), std::greater<>());
    const auto found = best_explained_sets(covariance, 3, 5);
    ASSERT_EQ(found.size(), 5U);
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_NEAR(found[k].gain, gains[k], 1e-10);
      EXPECT_NEAR(found[k].gain, gain_of(covariance, found[k].coordinates), 1e-10);
    }
  }
}

// Up to the floor of residual sds, which costs less than 1e-4 nats a coordinate (quadratic_fit.hpp), and what
// subspace iteration leaves of eigenvalues.
TEST(StructuredStarts, GainWhatTheySay) {
  for (const Index rows : {12, 60}) {
    const Index m = 24;
    const Matrix precision = unit_precision(rows, m, 7);
    const QuadraticFitter fitter(precision);
    const auto starts = structured_starts(precision.inverse(), Vector::Ones(m), 3);
    ASSERT_FALSE(starts.empty());
    for (const StructuredStart& start : starts) {
      const double gain = fitter.value(start.factors, start.residual_sd) - fitter.fit(0).value;
      EXPECT_NEAR(gain, start.gain, .005) << rows;
      EXPECT_LE(start.gain, starts.front().gain);
    }
  }
}

// In other units the same.
TEST(StructuredStarts, DoNotDependOnUnits) {
  const Index m = 20;
  const Matrix precision = unit_precision(12, m, 3);
  const Vector scale = test::normals(m, 1, 8).array().exp();
  const Matrix scaled = scale.cwiseInverse().asDiagonal() * precision * scale.cwiseInverse().asDiagonal();
  const auto plain = structured_starts(precision.inverse(), Vector::Ones(m), 2);
  const auto other = structured_starts(scaled.inverse(), scale, 2);
  ASSERT_EQ(plain.size(), other.size());
  EXPECT_NEAR(plain.front().gain, other.front().gain, 1e-8);
  const Vector back = other.front().residual_sd.cwiseQuotient(scale);
  EXPECT_LT((back - plain.front().residual_sd).norm(), 1e-8);
}

// Ascents from the other sets of the quadratic at its end lead no higher, and no seed decides.
TEST(StructuredStarts, LeadToTheHighestMaximumOfAWideRegression) {
  const Index m = 320;
  const RowMatrix x = test::design(60, m, 5);
  const Regression model =
      test::regression(test::Kind::logistic, Design::own(x), test::responses(test::Kind::logistic, x, 6),
                       NormalPriorOptions{});
  Workers workers(1);
  ExactElbo elbo(*model.expectations(), workers);
  const ModePoint mode = newton_mode(elbo, model.start(), test::kGoOn);
  const Vector sd = mode.curvature.diagonal().cwiseSqrt().cwiseInverse();
  const AscentScales scales{sd, mode.curvature};
  const QuadraticFitter fitter(mode.curvature);
  const LowRankPoint start{mode.mean, fitter.eigenvectors(sd, 3), sd};
  const LowRankFit fit = fit_low_rank(elbo, start, scales, 1, test::kGoOn);
  EXPECT_TRUE(fit.stop.converged);
  EXPECT_NEAR(fit_low_rank(elbo, start, scales, 2, test::kGoOn).elbo, fit.elbo, 1e-3);
  for (std::uint64_t k = 0; k < 20; ++k) {
    const Matrix factors = sd.asDiagonal() * test::normals(m, 3, 300 + k);
    const LowRankFit other = ascend_low_rank(elbo, {mode.mean, factors, sd}, scales, 1e-3, test::kGoOn);
    EXPECT_GT(fit.elbo, other.elbo - .005);
  }
}

}  // namespace
}  // namespace magva
