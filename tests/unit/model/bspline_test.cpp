#include "magva/regression.hpp"

#include <gtest/gtest.h>

#include "magva/check_gradient.hpp"
#include "magva/error.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

TEST(BSpline, SumsToOneAndIsLocalUpToBothEnds) {
  for (const Index degree : {0, 1, 2, 3, 5}) {
    const BSplineBasis basis(11, degree, -2.0, 3.0);
    const Vector x = Vector::LinSpaced(201, -2.0, 3.0);
    const RowMatrix design = basis(x);
    EXPECT_GE(design.minCoeff(), 0.0);
    EXPECT_LT((design.rowwise().sum().array() - 1.0).abs().maxCoeff(), 1e-14);
    for (Index i = 0; i < x.size(); ++i) EXPECT_LE((design.row(i).array() > 0.0).count(), degree + 1);
  }
}

TEST(BSpline, ReproducesCubicsExactly) {
  // By Marsden's identity coefficients at the knot averages reproduce the identity function.
  const BSplineBasis basis(9, 3, 0.0, 1.0);
  const Vector knots = basis.knots();
  Vector averages(9);
  for (Index i = 0; i < 9; ++i) averages(i) = knots.segment(i + 1, 3).mean();
  const Vector x = Vector::LinSpaced(101, 0.0, 1.0);
  EXPECT_LT((basis(x) * averages - x).cwiseAbs().maxCoeff(), 1e-14);
}

TEST(BSpline, RefusesWhatCannotBe) {
  EXPECT_THROW(BSplineBasis(3, 3, 0.0, 1.0), UsageError);
  EXPECT_THROW(BSplineBasis(9, 3, 1.0, 1.0), UsageError);
  EXPECT_THROW(BSplineBasis(9, 3, 0.0, 1.0)(Vector::Constant(1, 1.5)), DataError);
  EXPECT_THROW(BSplineBasis(9, 3, 0.0, 1.0)(Vector::Constant(1, std::nan(""))), DataError);
}

TEST(Pspline, GradientAndNames) {
  const Vector x = (normal_matrix(60, 1, 3).array() * 0.1 + 0.5).matrix().col(0);
  const Pspline pspline = pspline_regression(x, normal_matrix(60, 1, 4).col(0));
  EXPECT_EQ(pspline.model.dimension(), 28);
  EXPECT_EQ(pspline.basis.lower(), x.minCoeff());
  EXPECT_EQ(pspline.model.parameter_name(25), "log_tau2");
  EXPECT_EQ(pspline.model.parameter_name(26), "logit_psi");
  EXPECT_EQ(pspline.model.parameter_name(27), "log_sigma2");
  for (unsigned seed = 0; seed < 5; ++seed) {
    const GradientCheck check = check_gradient(pspline.model, normal_matrix(28, 1, 50 + seed).col(0));
    EXPECT_TRUE(check.passed) << check.sentence;
  }
}

// With 1 / tau^2 > 1 the coordinate is u = logit tau^2: the density is that of the whole Weibull distribution
// at log tau^2, times d log tau^2 / du = 1 - tau^2, over the mass P(1 / tau^2 > 1) = exp(-b^-a).
TEST(Pspline, SupportAsPrinted) {
  PsplineOptions options;
  const Vector x = (normal_matrix(60, 1, 3).array() * 0.1 + 0.5).matrix().col(0);
  const Vector y = normal_matrix(60, 1, 4).col(0);
  const Pspline whole = pspline_regression(x, y, Vector(), options);
  options.prior.support = WeibullSupport::above_one;
  const Pspline printed = pspline_regression(x, y, Vector(), options);
  EXPECT_EQ(printed.model.parameter_name(25), "logit_tau2");
  for (const double u : {-30.0, -2.0, 0.0, 0.7, 5.0}) {
    Vector theta = normal_matrix(28, 1, 60).col(0);
    theta(25) = u;
    const double found = evaluate(printed.model, theta).log_density(0);
    const double tau2 = 1 / (1 + std::exp(-u));
    theta(25) = std::log(tau2);
    const double expected = evaluate(whole.model, theta).log_density(0) + std::log1p(-tau2) +
                            std::pow(options.prior.b_tau, -options.prior.a_tau);
    EXPECT_NEAR(found, expected, 1e-10 * std::abs(expected));
    theta(25) = u;
    const GradientCheck check = check_gradient(printed.model, theta);
    EXPECT_TRUE(check.passed) << check.sentence;
  }
}

TEST(Pspline, RefusesConstantCovariateAndBadOptions) {
  const Vector y = normal_matrix(5, 1, 5).col(0);
  EXPECT_THROW(pspline_regression(Vector::Ones(5), y), DataError);
  PsplineOptions options;
  options.functions = 2;
  options.noise.outlier_share = 1.5;
  EXPECT_EQ(options.validate().size(), 2u);
  EXPECT_THROW(pspline_regression(Vector::LinSpaced(5, 0.0, 1.0), y, Vector(), options), UsageError);
}

}  // namespace
}  // namespace magva::testing
