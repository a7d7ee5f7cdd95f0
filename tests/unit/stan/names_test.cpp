#include "stan/library.hpp"

#include <gtest/gtest.h>

namespace magva::stan {
namespace {

TEST(StanNames, WritesIndicesInBrackets) {
  EXPECT_EQ(stan_name("mu"), "mu");
  EXPECT_EQ(stan_name("theta.3"), "theta[3]");
  EXPECT_EQ(stan_name("Sigma.1.2"), "Sigma[1,2]");
}

TEST(StanNames, WritesComplexPartsAsTheLastIndex) {
  EXPECT_EQ(stan_name("z.real"), "z[real]");
  EXPECT_EQ(stan_name("z.2.imag"), "z[2,imag]");
}

TEST(StanNames, WritesPartsOfTuplesAfterAPoint) {
  EXPECT_EQ(stan_name("pair:1"), "pair.1");
  EXPECT_EQ(stan_name("pair:2.3"), "pair.2[3]");
  EXPECT_EQ(stan_name("pairs.4:2.3"), "pairs[4].2[3]");
}

TEST(StanNames, SplitsLists) {
  EXPECT_EQ(stan_names("mu,theta.1,theta.2"), (std::vector<std::string>{"mu", "theta[1]", "theta[2]"}));
  EXPECT_TRUE(stan_names("").empty());
}

}  // namespace
}  // namespace magva::stan
