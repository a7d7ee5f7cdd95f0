#include "magva/draws.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "magva/error.hpp"
#include "results/names.hpp"
#include "stan/library.hpp"

namespace magva::results {
namespace {

Draws two_draws() {
  Draws draws;
  draws.names = {"mu", "Sigma[1,2]"};
  draws.values = Matrix{{0.1, 1. / 3}, {-2, 1e-300}};
  draws.log_p = Vector{{-1.5, -2}};
  draws.log_q = Vector{{-0.25, -1}};
  return draws;
}

TEST(CmdstanCsv, NamesAreBridgeStansAgain) {
  for (const auto* name : {"mu", "theta.3", "Sigma.1.2", "z.2.imag", "pair:2.3", "pairs.4:2.3"}) {
    EXPECT_EQ(cmdstan_name(stan::stan_name(name)), name);
  }
}

TEST(CmdstanCsv, HoldsOneLineADrawWithAllDigits) {
  const auto file = std::filesystem::path(testing::TempDir()) / "magva_draws.csv";
  write_cmdstan_csv(file, two_draws(), {"bernoulli", 3, "full rank"});
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(file);
  EXPECT_EQ(text.front(), '#');
  EXPECT_NE(text.find("\n# model = bernoulli\n"), std::string::npos);
  EXPECT_NE(text.find("\nlp__,log_p__,log_g__,mu,Sigma.1.2\n"
                      "-1.5,-1.5,-0.25,0.1,-2\n"
                      "-2,-2,-1,0.3333333333333333,1e-300\n"),
            std::string::npos)
      << text;
}

TEST(CmdstanCsv, LeavesNothingWhereItCannotWrite) {
  EXPECT_THROW(write_cmdstan_csv("no/such/folder/draws.csv", two_draws(), {}), IoError);
  const auto folder = std::filesystem::path(testing::TempDir()) / "magva_taken.csv";
  std::filesystem::create_directories(folder / "inside");
  EXPECT_THROW(write_cmdstan_csv(folder, two_draws(), {}), IoError);
  for (const auto& entry : std::filesystem::directory_iterator(testing::TempDir())) {
    EXPECT_EQ(entry.path().filename().string().find("magva_taken.csv."), std::string::npos);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace magva::results
