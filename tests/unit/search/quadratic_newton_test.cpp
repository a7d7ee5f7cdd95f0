#include "search/quadratic_newton.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>

#include "core/low_rank_plus_diagonal.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

/// X'X and a prior, from as many rows as asked for.
Matrix precision_of_rows(Index rows, Index m, std::uint64_t seed) {
  const Matrix x = test::random_matrix(rows, m, seed) *
                   (Matrix::Identity(m, m) + .3 * test::random_matrix(m, m, seed + 1));
  Matrix out = x.transpose() * x;
  out.diagonal().array() += .1;
  return out;
}

Matrix in_conditional_sds(const Matrix& precision) {
  const Vector sd = precision.diagonal().cwiseSqrt().cwiseInverse();
  return sd.asDiagonal() * precision * sd.asDiagonal();
}

TEST(ResidualProfile, DerivativesAreThoseOfItsValue) {
  const Index m = 8;
  const Matrix unit = in_conditional_sds(precision_of_rows(50, m, 3));
  const Vector x = -.3 * test::random_matrix(m, 1, 5).col(0).cwiseAbs();
  for (const Index rank : {1, 3, 8}) {
    const ResidualProfile at(unit, rank, x);
    const Vector gradient = at.gradient();
    const Matrix hessian = at.negative_hessian();
    const double h = 1e-5;
    for (Index j = 0; j < m; ++j) {
      const Vector away = h * Vector::Unit(m, j);
      const ResidualProfile above(unit, rank, x + away);
      const ResidualProfile below(unit, rank, x - away);
      EXPECT_NEAR(gradient(j), (above.value() - below.value()) / (2 * h), 1e-8);
      EXPECT_LT((hessian.col(j) - (below.gradient() - above.gradient()) / (2 * h)).norm(), 1e-7);
    }
  }
}

// Its value is the quadratic's, with the best factors for the given residual sds.
TEST(ResidualProfile, IsTheQuadraticWithTheBestFactors) {
  const Matrix precision = precision_of_rows(50, 8, 3);
  const Vector sd = precision.diagonal().cwiseSqrt().cwiseInverse();
  const Vector x = -.3 * test::random_matrix(8, 1, 5).col(0).cwiseAbs();
  const ResidualProfile at(in_conditional_sds(precision), 2, x);
  const Vector residual_sd = sd.array() * x.array().exp();
  const QuadraticFitter fitter(precision);
  const Matrix factors = sd.asDiagonal() * at.factors();
  const double value = fitter.value(factors, residual_sd);
  EXPECT_NEAR(at.value() + sd.array().log().sum(), value, 1e-11);
  for (std::uint64_t k = 0; k < 20; ++k)
    EXPECT_LT(fitter.value(factors + .01 * sd.asDiagonal() * test::random_matrix(8, 2, 40 + k), residual_sd),
              value);
}

// A step of half the length has a quarter of the error; one that turns the factors further is refused.
TEST(ResidualProfile, KnowsItsFactorsAfterAShortStep) {
  const Matrix unit = in_conditional_sds(precision_of_rows(50, 8, 3));
  const Vector x = -.3 * test::random_matrix(8, 1, 5).col(0).cwiseAbs();
  const ResidualProfile at(unit, 2, x);
  const Vector direction = test::random_matrix(8, 1, 6).col(0);
  const auto error = [&](double length) {
    const Matrix moved = *at.factors_after(length * direction, 1);
    const Matrix truth = ResidualProfile(unit, 2, x + length * direction).factors();
    return (moved * moved.transpose() - truth * truth.transpose()).norm();
  };
  EXPECT_GT(error(1e-3), 0);
  EXPECT_NEAR(error(5e-4) / error(1e-3), .25, .03);
  EXPECT_FALSE(at.factors_after(1e-3 * direction, 1e-6).has_value());
}

// Sigma^-1 W = A W, and diag(Sigma^-1) = diag(A) but where a residual sd is at its bound.
TEST(NewtonQuadraticFit, SolvesTheEquationsOfAMaximum) {
  int held = 0;
  for (const auto& [rows, m, rank] :
       {std::tuple{500, 30, 4}, {40, 60, 4}, {2000, 9, 3}, {2000, 9, 5}, {300, 12, 5}, {2000, 9, 8}})
    for (const std::uint64_t seed : {1U, 11U, 21U}) {
      const Matrix precision = precision_of_rows(rows, m, seed);
      const Vector sd = precision.diagonal().cwiseSqrt().cwiseInverse();
      const QuadraticFit rough = QuadraticFitter(precision).fit(rank);
      const QuadraticFit fit = newton_quadratic_fit(QuadraticFitter(precision), rough.residual_sd, rank);
      EXPECT_GE(fit.value, rough.value - 1e-9);
      const LowRankPlusDiagonal sigma(fit.factors, fit.residual_sd);
      const Matrix excess = sd.asDiagonal() * (sigma.solve(fit.factors) - precision * fit.factors);
      EXPECT_LT(excess.cwiseAbs().maxCoeff(), 1e-7) << rows << " " << m << " " << rank;
      const Vector slope =
          (sigma.inverse_diagonal() - precision.diagonal()).cwiseProduct(fit.residual_sd.cwiseAbs2());
      for (Index j = 0; j < m; ++j) {
        const bool at_bound = fit.residual_sd(j) < 1.0001 * kResidualFloor * sd(j);
        held += at_bound ? 1 : 0;
        EXPECT_LT(slope(j), 1e-7);
        EXPECT_GT(slope(j), at_bound ? -1. : -1e-7) << rows << " " << m << " " << rank;
      }
    }
  EXPECT_GT(held, 0);
}

// What it is for: nearby starts, and a precision that differs by rounding, lead to the same value.
TEST(NewtonQuadraticFit, EndsWhereThePrecisionSays) {
  for (const auto& [rows, m, rank] : {std::tuple{500, 30, 4}, {2000, 9, 3}, {2000, 9, 5}, {300, 12, 5}}) {
    const Matrix precision = precision_of_rows(rows, m, 31);
    const QuadraticFit rough = QuadraticFitter(precision).fit(rank);
    const QuadraticFit fit = newton_quadratic_fit(QuadraticFitter(precision), rough.residual_sd, rank);
    for (std::uint64_t k = 0; k < 5; ++k) {
      const Vector nearby =
          fit.residual_sd.array() * (.02 * test::random_matrix(m, 1, 60 + k).col(0)).array().exp();
      Matrix rounded = precision.cwiseProduct(Matrix::Ones(m, m) + 1e-15 * test::random_matrix(m, m, 80 + k));
      rounded = Matrix(.5 * (rounded + rounded.transpose()));
      EXPECT_NEAR(newton_quadratic_fit(QuadraticFitter(rounded), nearby, rank).value, fit.value, 1e-10);
    }
  }
}

}  // namespace
}  // namespace magva
