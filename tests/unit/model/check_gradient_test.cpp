#include "magva/check_gradient.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "magva/error.hpp"

namespace magva::testing {
namespace {

/// log h = -sum_i i x_i^4 / 4 - x_0 x_2, with an error of that size in the derivative by x_2.
auto quartic(double mistake) {
  return make_model(4, [mistake](ConstVectorRef x, VectorRef gradient) {
    double value = -x(0) * x(2);
    for (Index i = 0; i < 4; ++i) {
      value -= static_cast<double>(i) * std::pow(x(i), 4) / 4.0;
      gradient(i) = -static_cast<double>(i) * std::pow(x(i), 3);
    }
    gradient(0) -= x(2);
    gradient(2) -= x(0) * (1.0 + mistake);
    return value;
  });
}

TEST(CheckGradient, PassesARightGradient) {
  for (const double scale : {1e-3, 1.0, 30.0}) {
    const GradientCheck check = check_gradient(quartic(0.0), scale * Vector::LinSpaced(4, -1.0, 2.0));
    EXPECT_TRUE(check.passed) << check.sentence;
    EXPECT_LT(check.error, 1e-7);
  }
}

TEST(CheckGradient, NamesTheWrongCoordinate) {
  for (const double mistake : {-2.0, 1.0, 0.01, 1e-4}) {
    const GradientCheck check = check_gradient(quartic(mistake), Vector::LinSpaced(4, -1.0, 2.0));
    EXPECT_FALSE(check.passed);
    EXPECT_EQ(check.worst, 2);
    EXPECT_NE(check.sentence.find("theta[3]"), std::string::npos);
    EXPECT_NEAR(check.numerical, -2.0 + 1.0, 1e-7);
    EXPECT_NEAR(check.analytic, -2.0 + 1.0 + mistake, 1e-12);
  }
}

TEST(CheckGradient, SaysWhereThereIsNothingToCheck) {
  const auto outside = make_model(1, [](ConstVectorRef x, VectorRef gradient) {
    gradient(0) = 0.0;
    return std::log(x(0));
  });
  const GradientCheck check = check_gradient(outside, Vector::Constant(1, -1.0));
  EXPECT_FALSE(check.passed);
  EXPECT_NE(check.sentence.find("cannot be checked"), std::string::npos);
  EXPECT_THROW(check_gradient(outside, Vector::Zero(2)), UsageError);
}

TEST(CheckGradient, WorksNextToTheEdgeOfTheSupport) {
  const auto logarithm = make_model(1, [](ConstVectorRef x, VectorRef gradient) {
    gradient(0) = 1.0 / x(0);
    return std::log(x(0));
  });
  EXPECT_TRUE(check_gradient(logarithm, Vector::Constant(1, 1e-2)).passed);
}

}  // namespace
}  // namespace magva::testing
