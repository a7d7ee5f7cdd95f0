#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>

#include "experiments/folds.hpp"
#include "experiments/paper_figures.hpp"
#include "experiments/remarks.hpp"
#include "experiments/simulation.hpp"
#include "experiments/statistics.hpp"
#include "magva/error.hpp"
#include "support/temporary_folder.hpp"

namespace magva::experiments {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Folds, AreStratified) {
  Vector classes = Vector::Zero(351);
  classes.head(225).setOnes();
  const auto folds = stratified_folds(classes, 5, 3);
  EXPECT_EQ(fold_count(folds), 5);
  EXPECT_NE(folds, stratified_folds(classes, 5, 4));
  for (int fold = 0; fold < 5; ++fold) {
    const FoldRows rows = rows_of(folds, fold);
    EXPECT_EQ(rows.training.size() + rows.test.size(), 351U);
    Index positive = 0;
    for (const Index i : rows.test) positive += classes(i) > 0 ? 1 : 0;
    EXPECT_EQ(positive, 45);
    EXPECT_NEAR(static_cast<double>(rows.test.size()), 70.2, 1);
  }
}

TEST(Folds, AFileMustHaveOneFoldARow) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "folds.csv";
  const auto write = [&](const char* text) { std::ofstream(path) << text; };
  write("fold\r\n2\r\n1\r\n2\r\n");
  EXPECT_EQ(read_folds(path, 3), (std::vector<int>{1, 0, 1}));
  EXPECT_THROW(read_folds(path, 4), DataError);
  write("fold\n1\n3\n1\n");
  EXPECT_THROW(read_folds(path, 3), DataError);
  write("fold\n1\n2x\n1\n");
  try {
    read_folds(path, 3);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("line 3"), std::string::npos);
  }
}

// 250 draws: the share of outliers, .05, has a standard error of .014; the variance of the noise,
// .95 + .05 * a, one of about .17 at a = 5.
TEST(Simulation, DataAreAsThePaperSays) {
  SimulationSettings settings;
  const SimulatedData data = simulate(settings), same = simulate(settings);
  EXPECT_EQ(data.y, same.y);
  ASSERT_EQ(data.x.size(), 250);
  EXPECT_GE(data.x.minCoeff(), 0);
  EXPECT_LE(data.x.maxCoeff(), 1);
  EXPECT_NEAR(data.x.mean(), .5, 4 * .0183);
  const Vector noise = data.y.array() - (4 * std::numbers::pi * data.x.array()).sin();
  EXPECT_NEAR(noise.mean(), 0, 4 * .07);
  EXPECT_NEAR(noise.squaredNorm() / 250, 1.2, 4 * .17);
  settings.noise_sd = .1;
  const SimulatedData quiet = simulate(settings);
  EXPECT_LT((quiet.y.array() - (4 * std::numbers::pi * quiet.x.array()).sin()).abs().maxCoeff(), 1);
}

TEST(Statistics, BandsSkipWhatIsNotFinite) {
  const CurveBand b = band({{1, kNaN, 3}, {3, 5}}, 25);
  EXPECT_EQ(b.iteration, (std::vector<double>{25, 50, 75}));
  EXPECT_EQ(b.mean, (std::vector<double>{2, 5, 3}));
  EXPECT_NEAR(b.high[0] - b.low[0], 2 * std::sqrt(2.), 1e-12);
}

TEST(Remarks, SayWhereFiguresDiffer) {
  EXPECT_EQ(compare_rates(.5, .6, 7.3, 7.4), "same, within half a point");
  EXPECT_EQ(compare_rates(.5, 7.5, 7.3, 7.4), "training error lower by 7.0, test error same");
  EXPECT_EQ(compare_errors(3, 2), "1 more");
  EXPECT_EQ(compare_errors(2, 7), "5 fewer");
  const MeanSd reference{-100, .1, 10};
  EXPECT_EQ(compare_bounds(ends({-99, -99.01}, -100), reference), "1.0 above");
  EXPECT_EQ(compare_bounds(ends({-100.05, -100}, -100), reference), "same");
  EXPECT_EQ(compare_bounds(ends({kNaN, -1e6}, -100), reference), "diverges");
  EXPECT_EQ(compare_bounds(ends({-150, -150, -1e9}, -100), reference), "50.0 below; 1 of 3 diverge");
}

TEST(PaperFigures, HaveEveryMethodOfTheTables) {
  for (const Method& method : engine_methods()) {
    EXPECT_TRUE(paper_ionosphere(method.id)) << method.id;
    EXPECT_TRUE(paper_leukemia(method.id)) << method.id;
  }
  EXPECT_TRUE(paper_ionosphere(slang().id));
  EXPECT_FALSE(paper_leukemia(slang().id));
}

}  // namespace
}  // namespace magva::experiments
