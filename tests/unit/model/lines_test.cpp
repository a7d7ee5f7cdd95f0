// Log densities on lines: the fast way of regressions against evaluations point by point.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/evaluator.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

const Vector kSteps{{-12, -1.5, 0, .5, 6}};

struct LinesProblem {
  Vector centre;
  Matrix directions;
};

LinesProblem lines_for(const Model& model) {
  const Index m = model.dimension();
  return {.2 * test::normals(m, 1, 61).col(0), .1 * test::normals(m, 7, 62)};
}

void expect_same_values(const Model& model, const std::string& name) {
  const LinesProblem lines = lines_for(model);
  Evaluator evaluator(model, 1);
  const Matrix fast = evaluator.evaluate_lines(lines.centre, lines.directions, kSteps);
  Vector gradient(model.dimension());
  for (Index j = 0; j < lines.directions.cols(); ++j)
    for (Index k = 0; k < kSteps.size(); ++k) {
      const double plain = evaluator.evaluate(lines.centre + kSteps(k) * lines.directions.col(j), gradient);
      EXPECT_NEAR(fast(k, j), plain, 1e-10 * (1 + std::abs(plain))) << name;
    }
}

TEST(Lines, OfEveryRegressionAreThoseOfItsPoints) {
  for (const auto& [name, model] : test::all_models(37, 6)) expect_same_values(model, name);
}

TEST(Lines, ValuesAloneAreThoseOfEvaluations) {
  for (const auto& [name, model] : test::all_models(37, 6)) {
    const Matrix theta = .3 * test::normals(model.dimension(), 9, 63);
    Evaluator evaluator(model, 1);
    Vector plain(9);
    Matrix gradient(theta.rows(), 9);
    evaluator.evaluate(theta, plain, gradient);
    const Vector values = evaluator.evaluate_values(theta);
    for (Index s = 0; s < 9; ++s) EXPECT_NEAR(values(s), plain(s), 1e-10 * (1 + std::abs(plain(s)))) << name;
  }
}

TEST(Lines, KnowOffsets) {
  const RowMatrix x = test::design(53, 4, 71);
  RegressionData data{Design::own(x), test::responses(test::Kind::poisson, x, 72), {}, {}};
  data.offset = test::normals(53, 1, 73).col(0);
  expect_same_values(poisson_regression(data), "offset");
}

TEST(Lines, AreTheSameForAnyNumberOfThreads) {
  const RowMatrix x = test::design(20'000, 12, 81);
  const Regression model =
      logistic_regression({Design::own(x), test::responses(test::Kind::logistic, x, 82), {}, {}});
  const LinesProblem lines = lines_for(model);
  Evaluator one(model, 1);
  Evaluator three(model, 3);
  EXPECT_EQ(one.evaluate_lines(lines.centre, lines.directions, kSteps),
            three.evaluate_lines(lines.centre, lines.directions, kSteps));
}

TEST(Lines, OfOtherModelsAreEvaluatedPointByPoint) {
  // Beyond 1 there is no density.
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return theta(0) > 1 ? std::nan("") : -.5 * theta.squaredNorm();
  });
  Evaluator evaluator(model, 1);
  const Matrix found = evaluator.evaluate_lines(Vector{{.5, 0}}, Matrix::Identity(2, 2), Vector{{-2, 0, 2}});
  EXPECT_DOUBLE_EQ(found(0, 0), -.5 * 1.5 * 1.5);
  EXPECT_EQ(found(2, 0), -std::numeric_limits<double>::infinity());
  EXPECT_DOUBLE_EQ(found(2, 1), -.5 * (.25 + 4));
}

}  // namespace
}  // namespace magva
