#include "results/names.hpp"

#include <gtest/gtest.h>

namespace magva::results {
namespace {

using Shape = std::vector<std::size_t>;
using Rows = std::vector<Index>;

TEST(Variables, GathersArraysWithTheLastIndexFastest) {
  // Stan's own order has the first index fastest.
  const auto variables =
      group_variables({"mu", "S[1,1]", "S[2,1]", "S[1,2]", "S[2,2]", "S[1,3]", "S[2,3]", "tau"});
  ASSERT_EQ(variables.size(), 3U);
  EXPECT_EQ(variables[0].name, "mu");
  EXPECT_TRUE(variables[0].shape.empty());
  EXPECT_EQ(variables[1].name, "S");
  EXPECT_EQ(variables[1].shape, (Shape{2, 3}));
  EXPECT_EQ(variables[1].rows, (Rows{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(variables[2].rows, (Rows{7}));
}

TEST(Variables, GathersArraysOfTuplesAndComplexNumbers) {
  const auto variables = group_variables(
      {"pairs[1].1", "pairs[2].1", "pairs[1].2[1]", "pairs[2].2[1]", "z[1,real]", "z[1,imag]"});
  ASSERT_EQ(variables.size(), 4U);
  EXPECT_EQ(variables[0].name, "pairs.1");
  EXPECT_EQ(variables[0].shape, (Shape{2}));
  EXPECT_EQ(variables[1].name, "pairs.2");
  EXPECT_EQ(variables[1].shape, (Shape{2, 1}));
  EXPECT_EQ(variables[2].name, "z.real");
  EXPECT_EQ(variables[3].name, "z.imag");
}

TEST(Variables, KeepsScalarsWhereIndicesAreNamesOrLeaveGaps) {
  const auto variables =
      group_variables({"beta[age]", "beta[sex]", "theta[1]", "theta[3]", "x[0]", "y[1]", "y[1,1]"});
  ASSERT_EQ(variables.size(), 7U);
  EXPECT_EQ(variables[0].name, "beta[age]");
  EXPECT_EQ(variables[3].name, "theta[3]");
  EXPECT_EQ(variables[3].rows, (Rows{3}));
  for (const auto& variable : variables) EXPECT_TRUE(variable.shape.empty());
}

}  // namespace
}  // namespace magva::results
