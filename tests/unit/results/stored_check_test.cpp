// Checks as they are stored with fits, and models ranked by them.
#include "magva/stored_check.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "magva/error.hpp"
#include "support/temporary_folder.hpp"

namespace magva::results {
namespace {

StoredCheck example(double shift) {
  const Vector y = Vector::LinSpaced(5, 0, 4);
  Matrix log_likelihood(5, 50);
  for (Index i = 0; i < 5; ++i)
    for (Index s = 0; s < 50; ++s)
      log_likelihood(i, s) = -1 - shift - .1 * static_cast<double>(i) - .01 * static_cast<double>(s);
  StoredCheck out;
  out.check.loo = psis_loo(log_likelihood);
  out.check.dispersion = Dispersion{1.5, .2, .1, .2, "a sentence"};
  out.check.pit = y / 5;
  out.check.mean = y;
  out.check.sd = Vector::Ones(5);
  out.response_name = "count";
  out.family = "poisson";
  out.response = y;
  out.response_sha256 = digest_of_response({y.data(), nullptr, nullptr, 5});
  return out;
}

TEST(StoredChecks, AreReadAsTheyWereWritten) {
  const test::TemporaryFolder folder;
  StoredCheck written = example(0);
  written.check.loo.khat_rows(2) = std::numeric_limits<double>::infinity();
  save_check(written, folder.path() / "check.json");
  const StoredCheck read = load_check(folder.path() / "check.json").value();
  EXPECT_EQ(read.check.loo.elpd, written.check.loo.elpd);
  EXPECT_EQ(read.check.loo.elpd_rows, written.check.loo.elpd_rows);
  EXPECT_EQ(read.check.loo.khat_rows, written.check.loo.khat_rows);
  EXPECT_EQ(read.check.pit, written.check.pit);
  EXPECT_EQ(read.response, written.response);
  EXPECT_EQ(read.response_sha256, written.response_sha256);
  EXPECT_EQ(read.check.dispersion->advice, "a sentence");
  EXPECT_FALSE(load_check(folder.path() / "nothing.json"));
  std::ofstream(folder.path() / "bad.json") << "{\"rows\": 3";
  EXPECT_THROW(load_check(folder.path() / "bad.json"), DataError);
}

TEST(StoredChecks, ModelsAreRankedBestFirst) {
  const auto ranked = rank_models({{"worse", example(.4)}, {"better", example(0)}});
  ASSERT_EQ(ranked.size(), 2U);
  EXPECT_EQ(ranked[0].name, "better");
  EXPECT_EQ(ranked[0].difference, 0);
  EXPECT_NEAR(ranked[1].difference, -5 * .4, 1e-10);
  StoredCheck other = example(0);
  other.response_sha256[0] = other.response_sha256[0] == '0' ? '1' : '0';
  EXPECT_THROW(rank_models({{"a", example(0)}, {"b", other}}), DataError);
}

TEST(StoredChecks, TheDigestKnowsTrials) {
  const double y[] = {1, 2};
  const double trials[] = {3, 3};
  EXPECT_NE(digest_of_response({y, nullptr, nullptr, 2}), digest_of_response({y, trials, nullptr, 2}));
  EXPECT_EQ(digest_of_response({y, nullptr, nullptr, 2}).size(), 64U);
}

}  // namespace
}  // namespace magva::results
