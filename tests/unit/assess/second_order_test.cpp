// Means to second order in the log weights, against cumulants that are known.
#include "assess/second_order.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "magva/model.hpp"
#include "sparse/factored_precision.hpp"

namespace magva {
namespace {

constexpr Index kCoordinates = 200;
constexpr double kSd = .5;

/// Independent coordinates with this sd.
Gaussian independent_sparse() {
  std::vector<Index> places;
  for (Index i = 0; i < kCoordinates; ++i) places.push_back(i);
  const auto structure = std::make_shared<const PrecisionStructure>(kCoordinates, places, places);
  return Gaussian::sparse(Vector::Ones(kCoordinates),
                          FactoredPrecision::make(structure, Vector::Constant(kCoordinates, 1 / (kSd * kSd)),
                                                  Matrix(kCoordinates, 0)));
}

/// That Gaussian times exp(a He3 + b He4) of each standardised coordinate.
auto with_hermite(double a, double b) {
  return make_model(kCoordinates, [a, b](ConstVectorRef theta, VectorRef gradient) {
    const Eigen::ArrayXd z = (theta.array() - 1) / kSd;
    const Eigen::ArrayXd he2 = z.square() - 1;
    const Eigen::ArrayXd he3 = z.cube() - 3 * z;
    const Eigen::ArrayXd he4 = z.square().square() - 6 * z.square() + 3;
    gradient = (-z + 3 * a * he2 + 4 * b * he3) / kSd;
    const double constant =
        -static_cast<double>(kCoordinates) * (std::log(kSd) + .5 * std::log(2 * std::numbers::pi));
    return (-.5 * z.square() + a * he3 + b * he4).sum() + constant;
  });
}

// The log weights have mean 0 and variance 200 (6 a^2 + 24 b^2) = 16: no weights would tell. With z He3 = He4
// + 3 He2 half the cumulant of z, l and l is a b E[He4^2] = 24 a b.
TEST(SecondOrder, ShiftOfIndependentCoordinatesIsTheirCumulant) {
  const double a = .1, b = .03;
  const auto model = with_hermite(a, b);
  Evaluator evaluator(model, 1);
  const auto found = second_order_shift(evaluator, independent_sparse(), 0, 1);
  ASSERT_TRUE(found.has_value());
  // Errors of coordinates are uncorrelated: each is l, the same for all, times a derivative of its own.
  const double se = found->se.mean() / std::sqrt(static_cast<double>(kCoordinates));
  EXPECT_LT(se, .01);
  EXPECT_NEAR(found->shift.mean(), 24 * a * b, 4 * se);
  // Their standard errors are those of their scatter, to four times its own error, 1 / sqrt(2 * 200).
  const double scatter = std::sqrt((found->shift.array() - 24 * a * b).square().mean());
  EXPECT_NEAR(scatter / found->se.mean(), 1, .2);
}

TEST(SecondOrder, OfAPosteriorThatIsTheGaussianIsNone) {
  const auto model = with_hermite(0, 0);
  Evaluator evaluator(model, 1);
  const auto found = second_order_shift(evaluator, independent_sparse(), 0, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(found->shift.cwiseAbs().maxCoeff(), 1e-9);
  Assessment out;
  out.elbo = 0;
  assess_second_order(evaluator, independent_sparse(), 1, out);
  EXPECT_TRUE(out.doubts.empty());
  EXPECT_TRUE(out.trusted);
}

// A mean that is .5 sds off is in doubt, one that is a whole sd off is of no use.
TEST(SecondOrder, AMeanThatIsOffIsNamed) {
  for (const double off : {.5, 1.}) {
    const auto model = make_model(kCoordinates, [off](ConstVectorRef theta, VectorRef gradient) {
      Vector mean = Vector::Ones(theta.size());
      mean(7) += off * kSd;
      gradient = (mean - theta) / (kSd * kSd);
      return -.5 * (mean - theta).squaredNorm() / (kSd * kSd);
    });
    Evaluator evaluator(model, 1);
    Assessment out;
    const double constant =
        -static_cast<double>(kCoordinates) * (std::log(kSd) + .5 * std::log(2 * std::numbers::pi));
    out.elbo = -.5 * off * off - constant;
    assess_second_order(evaluator, independent_sparse(), 1, out);
    ASSERT_EQ(out.doubts.size(), 1U);
    EXPECT_EQ(out.doubts[0].parameter, model.parameter_name(7));
    EXPECT_NEAR(out.doubts[0].shift, off, .25);
    EXPECT_EQ(out.trusted, off < .69);
  }
}

}  // namespace
}  // namespace magva
