// Designs of small whole numbers, kept in int8, are the same designs.
#include <gtest/gtest.h>

#include "core/caches.hpp"
#include "magva/regression.hpp"
#include "models/design_moments.hpp"
#include "unit/model/support.hpp"

namespace magva {
namespace {

using testing::evaluate;
using testing::Evaluated;
using testing::normal_matrix;

RowMatrix whole_numbers(Index rows, Index cols) {
  RowMatrix x = (40 * normal_matrix(rows, cols, 1)).array().round().max(-128.).min(127.).matrix();
  x(0, 0) = -128;
  x(rows - 1, cols - 1) = 127;
  return x;
}

/// A view of a copy in int8, whatever its size.
Design in_bytes(const RowMatrix& x) {
  using Bytes = Eigen::Matrix<std::int8_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto kept = std::make_shared<const Bytes>(x.cast<std::int8_t>());
  return Design::view(DenseRows<std::int8_t>{kept->data(), kept->rows(), kept->cols(), kept->cols()}, kept);
}

TEST(Int8Design, EvaluatesAsDoublesDo) {
  for (const Index cols : {1, 3, 7, 8, 9, 16, 31, 100}) {
    const Index rows = 77;
    const RowMatrix x = whole_numbers(rows, cols);
    const Vector y = testing::zero_one(rows, 2);
    const Regression doubles = logistic_regression({Design::own(x), y, Vector(), {}});
    const Regression bytes = logistic_regression({in_bytes(x), y, Vector(), {}});
    for (const Index draws : {1, 2, 5, 8, 17}) {
      SCOPED_TRACE(::testing::Message() << cols << " columns, " << draws << " draws");
      const Matrix theta = normal_matrix(cols, draws, 3, .01);
      const Evaluated a = evaluate(bytes, theta);
      const Evaluated b = evaluate(doubles, theta);
      EXPECT_LT((a.log_density - b.log_density).cwiseAbs().maxCoeff(),
                1e-12 * b.log_density.cwiseAbs().maxCoeff());
      EXPECT_LT((a.gradient - b.gradient).cwiseAbs().maxCoeff(), 1e-12 * b.gradient.cwiseAbs().maxCoeff());
    }
    const Vector mean = normal_matrix(cols, 1, 4, .01).col(0);
    const Matrix factors = normal_matrix(cols, 2, 5, .01);
    const Vector residual = Vector::Constant(cols, .02);
    const GaussianView q{mean, factors, residual};
    Workers workers(1);
    const auto expected = [&](const Regression& model) {
      const auto scratch = model.expectations()->make_scratch(2);
      Evaluation evaluation{*scratch, workers};
      Vector gradient(cols);
      Matrix curvature;
      model.expectations()->expect(q, gradient, curvature, evaluation);
      return curvature;
    };
    const Matrix of_doubles = expected(doubles);
    EXPECT_LT((expected(bytes) - of_doubles).cwiseAbs().maxCoeff(), 1e-12 * of_doubles.cwiseAbs().maxCoeff());
  }
}

TEST(Int8Design, IsChosenWhereItPays) {
  const Index cols = 1000;
  const Index rows = detail::cache_sizes().last / 8 / cols + 1;
  RowMatrix x = RowMatrix::Zero(rows, cols);
  x.col(0).setOnes();
  x(rows - 1, 3) = -128;
  const Design large = Design::own(x);
  ASSERT_TRUE(std::holds_alternative<DenseRows<std::int8_t>>(large.storage()));
  EXPECT_EQ(large.bytes(), rows * cols);
  const auto& kept = std::get<DenseRows<std::int8_t>>(large.storage());
  EXPECT_EQ(kept.data[(rows - 1) * kept.stride + 3], -128);
  EXPECT_FALSE(kept.single);
  const Design mapped = Design::view(DenseRows<double>{x.data(), rows, cols, cols});
  EXPECT_TRUE(std::holds_alternative<DenseRows<std::int8_t>>(mapped.compact().storage()));
  for (const double other : {128., -129., .5, 1e300}) {
    x(rows - 1, 3) = other;
    EXPECT_TRUE(std::holds_alternative<DenseRows<double>>(Design::own(x).storage())) << other;
  }
  EXPECT_TRUE(std::holds_alternative<DenseRows<double>>(Design::own(RowMatrix(x.topRows(2))).storage()));
  x(rows - 1, 3) = 2;
  const Design single = Design::own(SingleRowMatrix(x.cast<float>().replicate(2, 1)));
  EXPECT_TRUE(std::get<DenseRows<std::int8_t>>(single.storage()).single);
}

}  // namespace
}  // namespace magva
