// Fits without noise end at the same ELBO where sums differ in rounding: on a GPU, or with rows in another
// order.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "magva/fit.hpp"
#include "support/families.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

RegressionData in_another_order(RegressionData data, const RowMatrix& design, std::uint64_t seed) {
  std::vector<Index> order(static_cast<std::size_t>(design.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  data.design = Design::own(RowMatrix(design(order, Eigen::all)));
  for (Vector* column : {&data.response, &data.weights, &data.offset, &data.trials, &data.status})
    if (column->size() > 0) *column = Vector((*column)(order));
  return data;
}

struct RoundedProblem {
  Index rows, cols;
  std::vector<Index> ranks;
};

TEST(ExactFits, EndAtTheSameElboInAnyOrderOfRows) {
  for (const RoundedProblem& problem :
       {RoundedProblem{2000, 8, {3, 100}}, {300, 12, {1, 5}}, {60, 20, {4}}, {400, 40, {1}}})
    for (const test::Family& family : test::kFamilies) {
      const RowMatrix design = test::design(problem.rows, problem.cols, 17);
      const RegressionData data = test::family_data(family, Design::own(RowMatrix(design)));
      const Regression model = test::regression_of(family, data);
      if (model.expectations() == nullptr) continue;
      for (const Index rank : problem.ranks) {
        FitOptions options;
        options.rank = rank;
        options.diagnostic_draws = 100;
        const FitResult fit = magva::fit(model, options);
        EXPECT_EQ(fit.stopped, StopReason::kConverged);
        for (const std::uint64_t seed : {1U, 2U}) {
          const FitResult other =
              magva::fit(test::regression_of(family, in_another_order(data, design, seed)), options);
          EXPECT_EQ(other.stopped, fit.stopped);
          EXPECT_NEAR(other.elbo, fit.elbo, 1e-9 * std::abs(fit.elbo))
              << test::name_of(family) << ", " << problem.rows << " x " << problem.cols << ", rank " << rank;
        }
      }
    }
}

}  // namespace
}  // namespace magva
