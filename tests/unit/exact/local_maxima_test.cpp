// The search over local maxima of low-rank Gaussians, on a Gaussian posterior.
#include "exact/local_maxima.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>

#include "unit/exact/problems.hpp"

namespace magva {
namespace {

/// Of a regression whose columns have correlations of .99: any two coordinates may have the factors.
Matrix exchangeable_precision(Index m, std::uint64_t seed) {
  const Matrix common = test::normals(3 * m, 1, seed);
  const Matrix x = .1 * test::normals(3 * m, m, seed + 1) + .995 * common.replicate(1, m);
  return x.transpose() * x + .1 * Matrix::Identity(m, m);
}

// A factor for each of some coordinates gains log(|Sigma_JJ| / prod c_j^2) / 2 nats.
TEST(FactorMoves, ExplainCoordinatesWhole) {
  const Index m = 12;
  const Matrix precision = exchangeable_precision(m, 3);
  const FactorMoves moves(precision, 1);
  const Matrix factors = moves.greedy(3);
  const Matrix covariance = precision.inverse();
  const Vector c = moves.conditional_sd();
  std::vector<Index> explained;
  Vector residual_sd = c;
  for (Index j = 0; j < m; ++j)
    if (std::abs(factors.row(j).squaredNorm() / covariance(j, j) - 1) < 1e-10) explained.push_back(j);
  ASSERT_EQ(explained.size(), 3U);
  double gain = .5 * std::log(Matrix(covariance(explained, explained)).determinant());
  for (const Index j : explained) {
    gain -= std::log(c(j));
    residual_sd(j) = 1e-5 * c(j);
  }
  const QuadraticFitter fitter(precision);
  EXPECT_NEAR(fitter.value(factors, residual_sd), fitter.fit(0).value + gain, 1e-6);
}

// The first of them is the coordinate that depends most on the others.
TEST(FactorMoves, TryTheMostPromisingCoordinateFirst) {
  const Matrix precision = exchangeable_precision(12, 3);
  const FactorMoves moves(precision, 1);
  const Matrix greedy = moves.greedy(1);
  EXPECT_EQ(moves.move(Matrix::Zero(12, 1), 1, 7), greedy);
  EXPECT_NE(moves.move(Matrix::Zero(12, 1), 3, 7), greedy);
}

TEST(LocalMaxima, AreNotBelowAnyReachedFromTwoCoordinates) {
  const Index m = 16;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Matrix precision = exchangeable_precision(m, 10 * seed);
    const QuadraticFitter fitter(precision);
    const Matrix covariance = precision.inverse();
    const Vector c = precision.diagonal().cwiseSqrt().cwiseInverse();
    double best = -std::numeric_limits<double>::infinity();
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < i; ++j) {
        Matrix factors(m, 2);
        factors.col(0) = covariance.col(i) / std::sqrt(covariance(i, i));
        const Vector left = covariance.col(j) - factors.col(0) * factors(j, 0);
        factors.col(1) = left / std::sqrt(left(j));
        best = std::max(best, fitter.maximize_from(factors, c).value);
      }
    Workers workers(1);
    const auto found = search_local_maxima(precision, fitter.fit(2), workers, seed, [] { return true; });
    EXPECT_GT(found.front().value, best - kQuadraticTolerance);
  }
}

}  // namespace
}  // namespace magva
