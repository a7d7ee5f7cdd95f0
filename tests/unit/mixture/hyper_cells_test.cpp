// Weights and moments of the cells around nodes, and how weighted draws change them.
#include "mixture/hyper_cells.hpp"

#include <gtest/gtest.h>

namespace magva {
namespace {

HyperCell cell(double weight, double mean, double variance) {
  return {weight, 10, Vector::Constant(1, mean), Matrix::Constant(1, 1, variance)};
}

TEST(HyperCells, HaveTheMomentsOfTheirDraws) {
  Matrix places(2, 3);
  places << 0, 2, 5, 1, 3, 7;
  Matrix mass(2, 3);
  mass << .2, .2, 0, 0, 0, .6;
  const auto cells = cells_of(places, mass);
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_NEAR(cells[0].weight, .4, 1e-15);
  EXPECT_NEAR(cells[0].effective, 2, 1e-12);
  EXPECT_LT((cells[0].mean - Vector{{1, 2}}).norm(), 1e-12);
  EXPECT_LT((cells[0].covariance - Matrix::Ones(2, 2)).norm(), 1e-12);
  EXPECT_NEAR(cells[1].weight, .6, 1e-15);
  EXPECT_LT(cells[1].covariance.norm(), 1e-12);
}

// The cell without a draw of its own has the covariance within all of them.
TEST(HyperCells, WithFewDrawsHaveTheCovarianceOfAll) {
  auto cells = with_pooled_covariance({cell(.5, 0, 4), {.5, 0, Vector::Zero(1), Matrix::Zero(1, 1)}});
  EXPECT_NEAR(cells[1].covariance(0, 0), 2, 1e-5);
  EXPECT_NEAR(cells[0].covariance(0, 0), (10 * 4 + 2 * 2) / 12., 1e-5);
}

TEST(HyperCells, StayWhereDrawsSayTheSameAndGoWhereManySayElse) {
  const std::vector<HyperCell> before{cell(.7, 0, 1), cell(.3, 2, 1)};
  const auto same = updated_cells(before, before, 100);
  for (std::size_t j = 0; j < before.size(); ++j) {
    EXPECT_NEAR(same[j].weight, before[j].weight, 1e-12);
    EXPECT_NEAR(same[j].mean(0), before[j].mean(0), 1e-12);
    EXPECT_NEAR(same[j].covariance(0, 0), before[j].covariance(0, 0), 1e-12);
  }
  std::vector<HyperCell> found{cell(.4, 1, 2), cell(.6, 3, .5)};
  for (HyperCell& one : found) one.effective = 1e9;
  const auto moved = updated_cells(before, found, 1e9);
  for (std::size_t j = 0; j < before.size(); ++j) {
    EXPECT_NEAR(moved[j].weight, found[j].weight, 1e-6);
    EXPECT_NEAR(moved[j].mean(0), found[j].mean(0), 1e-6);
    EXPECT_NEAR(moved[j].covariance(0, 0), found[j].covariance(0, 0), 1e-6);
  }
}

// Two populations of one normal distribution, put together, have its moments whatever the share of each.
TEST(HyperCells, MomentsOfBothPartsAreThoseOfAllDraws) {
  const HyperCell known{1, 4, Vector::Constant(1, 1), Matrix::Constant(1, 1, 2)};
  const HyperCell seen{1, 4, Vector::Constant(1, 3), Matrix::Constant(1, 1, 2)};  // as many as what is known
  const auto both = updated_cells({known}, {seen}, 4);
  EXPECT_NEAR(both[0].mean(0), 2, 1e-12);
  EXPECT_NEAR(both[0].covariance(0, 0), 3, 1e-12);
}

}  // namespace
}  // namespace magva
