#include "search/quadratic_fit.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include "support/targets.hpp"

namespace magva {
namespace {

Matrix covariance(const QuadraticFit& fit) {
  Matrix out = fit.factors * fit.factors.transpose();
  out.diagonal() += fit.residual_sd.cwiseAbs2();
  return out;
}

/// Columns with a common part, as wide as `decades` powers of ten, and a unit prior for each in its own
/// scale.
Matrix correlated_precision(Index m, double correlation, double decades) {
  Matrix x = std::sqrt(1 - correlation) * test::random_matrix(2 * m, m, 3);
  x.colwise() += std::sqrt(correlation) * test::random_matrix(2 * m, 1, 4).col(0);
  Matrix out = x.transpose() * x;
  out.diagonal().array() += .1;
  const Vector scale = (Vector::LinSpaced(m, -decades / 2, decades / 2) * std::log(10.)).array().exp();
  return scale.asDiagonal() * out * scale.asDiagonal();
}

TEST(QuadraticFit, ValueIsThatOfItsCovariance) {
  const Matrix a = correlated_precision(12, .9, 3);
  const QuadraticFit fit = QuadraticFitter(a).best(3);
  const Matrix sigma = covariance(fit);
  const double log_det = 2 * Vector(sigma.llt().matrixLLT().diagonal()).array().log().sum();
  EXPECT_NEAR(fit.value, -.5 * (a * sigma).trace() + .5 * log_det, 1e-8);
}

TEST(QuadraticFit, FindsACovarianceOfItsFamilyExactly) {
  const Matrix w = test::random_matrix(15, 3, 1);
  Matrix sigma = w * w.transpose();
  sigma.diagonal() += test::random_matrix(15, 1, 2).cwiseAbs2() + Vector::Constant(15, .2);
  const QuadraticFitter fitter(sigma.llt().solve(Matrix::Identity(15, 15)));
  // An ascent ends when a whole run of it gains less than 1e-3 nats.
  EXPECT_NEAR(fitter.best(3).value, fitter.full_rank_value(), 5e-3);
  EXPECT_LT(fitter.best(1).value, fitter.full_rank_value() - .1);
}

TEST(QuadraticFit, MeanFieldHasTheConditionalSds) {
  const Matrix a = correlated_precision(6, .5, 0);
  const QuadraticFit fit = QuadraticFitter(a).best(0);
  EXPECT_EQ(fit.factors.cols(), 0);
  EXPECT_TRUE(fit.residual_sd.isApprox(a.diagonal().cwiseSqrt().cwiseInverse()));
}

// The maximum reached from the leading eigenvectors is not the highest one if columns are nearly collinear.
TEST(QuadraticFit, ManyStartsFindAHigherMaximum) {
  const QuadraticFitter fitter(correlated_precision(30, .99, 7));
  EXPECT_GT(fitter.best(4).value, fitter.fit(4).value + .1);
}

// The highest values known for these matrices, each reached from many starts.
TEST(QuadraticFit, FindsTheHighestMaximaKnown) {
  const QuadraticFitter collinear(correlated_precision(30, .999, 7));
  EXPECT_GT(collinear.fit(2).value, -72.75);
  EXPECT_GT(collinear.best(2).value, -72.722);
  EXPECT_GT(collinear.best(4).value, -66.55);
  EXPECT_GT(QuadraticFitter(correlated_precision(30, .99, 7)).best(4).value, -68.345);
}

TEST(QuadraticFit, AnAscentFromAMaximumStaysThere) {
  const QuadraticFitter fitter(correlated_precision(20, .9, 2));
  const QuadraticFit maximum = fitter.best(2);
  EXPECT_NEAR(fitter.maximize_from(maximum.factors, maximum.residual_sd).value, maximum.value, 5e-3);
}

}  // namespace
}  // namespace magva
