#include "mixed/stratified_normals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace magva {
namespace {

Matrix all_draws(std::uint64_t seed, Index draws, Index coordinates) {
  const mixed::StratifiedNormals noise(seed, draws);
  Matrix out(coordinates, draws);
  for (Index s = 0; s < draws; ++s) noise.fill(s, out.col(s));
  return out;
}

TEST(StratifiedNormals, EachCoordinateVisitsEachStratumOnce) {
  for (const Index draws : {1, 2, 3, 7, 64, 1000}) {
    const Matrix z = all_draws(3, draws, 40);
    for (Index i = 0; i < z.rows(); ++i) {
      std::vector<char> visited(static_cast<std::size_t>(draws));
      for (Index s = 0; s < draws; ++s) {
        const double p = .5 * std::erfc(-z(i, s) / std::sqrt(2.0));
        visited.at(static_cast<std::size_t>(p * static_cast<double>(draws))) = 1;
      }
      EXPECT_EQ(std::count(visited.begin(), visited.end(), 1), draws);
    }
  }
}

// An independent sample's mean has a standard error of .032 and its sd one of .022.
TEST(StratifiedNormals, MomentsAreNearlyExact) {
  const Matrix z = all_draws(5, 1000, 300);
  for (Index i = 0; i < z.rows(); ++i) {
    EXPECT_NEAR(z.row(i).mean(), 0, .004);
    EXPECT_NEAR(std::sqrt(z.row(i).squaredNorm() / 1000), 1, .006);
  }
}

// Of 300 coordinates the sum of all 44,850 squared correlations is 44.85 with a standard error of .30 if they
// are independent, and the largest is below 5 / sqrt(1000) but for one in 50.
TEST(StratifiedNormals, CoordinatesAreIndependent) {
  const Matrix z = all_draws(8, 1000, 300);
  double sum = 0, largest = 0;
  for (Index i = 0; i < z.rows(); ++i)
    for (Index j = 0; j < i; ++j) {
      const double correlation = z.row(i).dot(z.row(j)) / 1000;
      sum += correlation * correlation;
      largest = std::max(largest, std::abs(correlation));
    }
  EXPECT_NEAR(sum, 44.85, 4 * .30);
  EXPECT_LT(largest, 5 / std::sqrt(1000.0));
}

TEST(StratifiedNormals, NeighbouringDrawsAreIndependent) {
  const Matrix z = all_draws(11, 1000, 300);
  for (const Index lag : {1, 2, 16}) {
    double sum = 0;
    for (Index s = 0; s + lag < 1000; ++s) sum += z.col(s).dot(z.col(s + lag));
    EXPECT_NEAR(sum / std::sqrt(300 * (1000.0 - static_cast<double>(lag))), 0, 4);  // a standard normal
  }
}

TEST(StratifiedNormals, ASeedHasItsOwnNumbers) {
  EXPECT_EQ(all_draws(1, 50, 10), all_draws(1, 50, 10));
  EXPECT_GT((all_draws(1, 50, 10) - all_draws(2, 50, 10)).cwiseAbs().maxCoeff(), .5);
}

}  // namespace
}  // namespace magva
