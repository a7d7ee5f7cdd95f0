#include "magva/minibatch.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "magva/check_gradient.hpp"
#include "magva/error.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

std::shared_ptr<const Regression> linear_model(Index rows, Index cols) {
  const RegressionData data{Design::own(random_design(rows, cols, 1)),
                            normal_matrix(rows, 1, 2).col(0),
                            normal_matrix(rows, 1, 3).col(0).cwiseAbs(),
                            {}};
  return std::make_shared<const Regression>(linear_regression(data));
}

TEST(Minibatch, EveryRowIsExpectedEquallyOften) {
  // 103 rows in runs of 1 and of 4 (the last run has 3); counts over 20,000 iterations within 5 standard
  // errors.
  const auto full = linear_model(103, 3);
  for (const Index run : {1, 4}) {
    const Minibatch model(full, {20, run, 7});
    std::vector<double> counts(103, 0.0);
    const double iterations = 20000.0;
    for (std::uint64_t t = 0; t < 20000; ++t) {
      const std::vector<Index> rows = model.rows_at(t);
      const auto earlier_run = [run](Index a, Index b) { return a / run < b / run; };
      ASSERT_TRUE(std::is_sorted(rows.begin(), rows.end(), earlier_run));
      for (const Index row : rows) counts[static_cast<std::size_t>(row)] += 1.0;
    }
    const double share = 1.0 / static_cast<double>(model.batches());
    for (const double count : counts)
      EXPECT_NEAR(count / iterations, share, 5.0 * std::sqrt(share * (1.0 - share) / iterations));
  }
}

TEST(Minibatch, EveryRowIsReadOnceAnEpochInAnotherOrder) {
  // 103 rows: strata and runs of all kinds of ends; batches of at most 20 rows, or of one run.
  const auto full = linear_model(103, 3);
  for (const Index run : {1, 4, 30}) {
    const Minibatch model(full, {20, run, 7});
    std::vector<std::vector<Index>> orders;
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<Index> order;
      for (Index batch = 0; batch < model.batches(); ++batch) {
        const auto rows = model.rows_at(epoch * static_cast<std::uint64_t>(model.batches()) +
                                        static_cast<std::uint64_t>(batch));
        EXPECT_LE(static_cast<Index>(rows.size()), std::max<Index>(20, run));
        order.insert(order.end(), rows.begin(), rows.end());
      }
      orders.push_back(order);
      std::sort(order.begin(), order.end());
      ASSERT_EQ(order.size(), 103U);
      for (std::size_t row = 0; row < order.size(); ++row)
        EXPECT_EQ(order[row], static_cast<Index>(row)) << "run " << run;
    }
    EXPECT_NE(orders[0], orders[1]);
    EXPECT_NE(orders[1], orders[2]);
  }
}

TEST(Minibatch, MeanOfAnEpochIsTheFullModel) {
  const auto full = linear_model(103, 5);
  const Matrix theta = normal_matrix(full->dimension(), 2, 4, 0.4);
  const Evaluated expected = evaluate(*full, theta);
  const Minibatch model(full, {12, 3, 5});
  Matrix gradient = Matrix::Zero(theta.rows(), 2);
  Vector log_density = Vector::Zero(2);
  for (Index t = 0; t < model.batches(); ++t) {
    const Evaluated found = evaluate(model, theta, 1, static_cast<std::uint64_t>(t));
    gradient += found.gradient / static_cast<double>(model.batches());
    log_density += found.log_density / static_cast<double>(model.batches());
  }
  // The prior and the constants are in every batch whole, the rows' part scaled: equal up to rounding.
  EXPECT_LT((gradient - expected.gradient).cwiseAbs().maxCoeff(), 1e-10);
  EXPECT_LT((log_density - expected.log_density).cwiseAbs().maxCoeff(), 1e-10);
}

TEST(Minibatch, EstimatesAreUnbiased) {
  const auto full = linear_model(97, 5);
  const Matrix theta = normal_matrix(full->dimension(), 2, 4, 0.4);
  const Evaluated expected = evaluate(*full, theta);
  for (const Index run : {1, 3}) {
    const Minibatch model(full, {12, run, 5});
    const Index batches = 6000;
    Matrix values(batches, theta.rows() + 1);
    for (Index t = 0; t < batches; ++t) {
      const Evaluated found = evaluate(model, theta, 1, static_cast<std::uint64_t>(t));
      values(t, 0) = found.log_density(1);
      values.row(t).tail(theta.rows()) = found.gradient.col(1).transpose();
    }
    for (Index k = 0; k < values.cols(); ++k) {
      const double mean = values.col(k).mean();
      const double variance = (values.col(k).array() - mean).square().mean();
      const double truth = k == 0 ? expected.log_density(1) : expected.gradient(k - 1, 1);
      // Five standard errors of the mean of independent batches; those of an epoch are better than that.
      EXPECT_NEAR(mean, truth, 5.0 * std::sqrt(variance / static_cast<double>(batches))) << k;
      EXPECT_GT(variance, 0.0);
    }
  }
}

TEST(Minibatch, SampleIsAFunctionOfSeedAndIteration) {
  const auto full = linear_model(500, 3);
  const Minibatch a(full, {32, 1, 1});
  EXPECT_EQ(a.rows_at(9), Minibatch(full, {32, 1, 1}).rows_at(9));
  EXPECT_NE(a.rows_at(9), a.rows_at(10));
  EXPECT_NE(a.rows_at(9), Minibatch(full, {32, 1, 2}).rows_at(9));
  EXPECT_NE(a.rows_at(9), a.rows_at(9 + (std::uint64_t{1} << 32)));
}

TEST(Minibatch, AllRowsIsTheFullModel) {
  const auto full = linear_model(50, 4);
  const Matrix theta = normal_matrix(full->dimension(), 3, 6, 0.4);
  const Evaluated expected = evaluate(*full, theta);
  for (const Index rows : {50, 1000}) {
    const Evaluated found = evaluate(Minibatch(full, {rows, 1, 1}), theta, 1, 3);
    EXPECT_EQ(found.log_density, expected.log_density);
    EXPECT_EQ(found.gradient, expected.gradient);
  }
}

TEST(Minibatch, GradientIsTheDerivativeAndThreadsDoNotMatter) {
  const auto full = linear_model(3000, 90);
  const Minibatch model(full, {2500, 1, 1});
  const Matrix theta = normal_matrix(full->dimension(), 3, 8, 0.1);
  GradientCheckOptions options;
  options.iteration = 17;
  const GradientCheck check = check_gradient(model, theta.col(0), options);
  EXPECT_TRUE(check.passed) << check.sentence;
  const Evaluated one = evaluate(model, theta, 1, 5);
  const Evaluated two = evaluate(model, theta, 2, 5);
  EXPECT_EQ(one.log_density, two.log_density);
  EXPECT_EQ(one.gradient, two.gradient);
}

TEST(Minibatch, EstimatesTheSparseDesignAlike) {
  const RowMatrix x = random_design(200, 11, 9);
  const Vector y = zero_one(200, 10);
  const auto dense = std::make_shared<const Regression>(logistic_regression({Design::own(x), y, {}, {}}));
  const auto sparse =
      std::make_shared<const Regression>(logistic_regression({Design::own(to_sparse(x)), y, {}, {}}));
  const Matrix theta = normal_matrix(11, 2, 11);
  const Evaluated a = evaluate(Minibatch(dense, {30, 1, 1}), theta, 1, 4);
  const Evaluated b = evaluate(Minibatch(sparse, {30, 1, 1}), theta, 1, 4);
  EXPECT_LT((a.gradient - b.gradient).cwiseAbs().maxCoeff(), 1e-11);
}

TEST(Minibatch, RefusesEmptyBatches) {
  EXPECT_THROW(Minibatch(linear_model(10, 2), {0, 1, 1}), UsageError);
  EXPECT_THROW(Minibatch(linear_model(10, 2), {5, 0, 1}), UsageError);
}

}  // namespace
}  // namespace magva::testing
