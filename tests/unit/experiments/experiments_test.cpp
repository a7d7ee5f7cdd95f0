#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <numbers>

#include "experiments/claims.hpp"
#include "experiments/folds.hpp"
#include "experiments/leukemia.hpp"
#include "experiments/paper.hpp"
#include "experiments/rank_example.hpp"
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
  const auto folds = stratified_folds(classes, 5, 3, 0);
  EXPECT_EQ(fold_count(folds), 5);
  EXPECT_NE(folds, stratified_folds(classes, 5, 4, 0));
  EXPECT_NE(folds, stratified_folds(classes, 5, 3, 1));
  for (int fold = 0; fold < 5; ++fold) {
    const FoldRows rows = rows_of(folds, fold);
    EXPECT_EQ(rows.training.size() + rows.test.size(), 351U);
    Index positive = 0;
    for (const Index i : rows.test) positive += classes(i) > 0 ? 1 : 0;
    EXPECT_EQ(positive, 45);
    EXPECT_NEAR(static_cast<double>(rows.test.size()), 70.2, 1);
  }
}

// Philox words are integers: the folds that documented figures come from are the same everywhere.
TEST(Folds, AreTheSameOnEveryMachine) {
  const Vector classes{{0, 0, 0, 1, 1, 1, 1, 0, 1, 0}};
  EXPECT_EQ(stratified_folds(classes, 2, 1, 0), (std::vector<int>{0, 1, 1, 1, 0, 1, 0, 0, 1, 0}));
  EXPECT_EQ(stratified_folds(classes, 2, 1, 1), (std::vector<int>{0, 0, 1, 0, 0, 1, 1, 0, 1, 1}));
}

TEST(Folds, AWrittenFileIsReadBack) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "folds.csv";
  const std::vector<int> folds{0, 2, 1, 1, 0};
  write_folds({folds}, path);
  EXPECT_EQ(read_folds(path, 5), folds);
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
  // Paired over a: only the outliers move.
  SimulationSettings without = settings;
  without.outlier_scale = 1;
  const SimulatedData paired = simulate(without);
  EXPECT_EQ(paired.x, data.x);
  const auto moved = (paired.y.array() != data.y.array()).count();
  EXPECT_NEAR(static_cast<double>(moved), 12.5, 4 * 3.45);
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

TEST(Statistics, IterationsToALevelAreOfTheSmoothedCurve) {
  // Windows of 50 iterations: two make the average over 100.
  const std::vector<double> curve{-100, -50, -10, -4, -1, -1, -1, -1, -1, -1};
  EXPECT_EQ(end_of(curve), -1);
  EXPECT_EQ(iterations_to(curve, 50, end_of(curve) - kConvergedWithin), 250);  // (-4 - 1) / 2 >= -4
  EXPECT_TRUE(std::isnan(iterations_to(curve, 50, 0)));
  EXPECT_TRUE(std::isnan(iterations_to({-5, kNaN, -1}, 50, -2)));
  EXPECT_EQ(iterations_or_never(kNaN), "never");
  EXPECT_EQ(median({3, kNaN, 1}), 3);
  EXPECT_TRUE(std::isnan(median({kNaN, kNaN, 1})));
}

TEST(Statistics, OscillationIsFreeOfATrend) {
  std::vector<double> trend, jitter;
  for (int i = 0; i < 100; ++i) {
    trend.push_back(.5 * i);
    jitter.push_back(.5 * i + (i % 2 == 0 ? 1 : -1));
  }
  EXPECT_NEAR(oscillation(trend), 0, 1e-12);
  EXPECT_NEAR(oscillation(jitter), std::sqrt(2.) * std::sqrt(20. / 19), 1e-9);
}

TEST(Statistics, CurvesAreCutAtAnIteration) {
  const CurveBand cut = until(band({{1, 2, 3}}, 25), 50);
  EXPECT_EQ(cut.iteration, (std::vector<double>{25, 50}));
  EXPECT_EQ(cut.mean, (std::vector<double>{1, 2}));
}

TEST(Paper, WordsSayWhereFiguresDiffer) {
  EXPECT_EQ(compare_rates({7.3, .5, 20}, 7.4), "same, within two sds of splits");
  EXPECT_EQ(compare_rates({7.3, .5, 20}, 14.2), "lower by 6.9 points");
  EXPECT_EQ(compare_errors(3, 2), "1 more");
  EXPECT_EQ(compare_errors(2, 7), "5 fewer");
  const MeanSd reference{-100, .1, 10};
  EXPECT_EQ(compare_bounds(ends({-99, -99.01}, -100), reference), "1.0 above");
  EXPECT_EQ(compare_bounds(ends({-100.05, -100}, -100), reference), "same");
  EXPECT_EQ(compare_bounds(ends({kNaN, -1e6}, -100), reference), "diverges");
  EXPECT_EQ(compare_bounds(ends({-150, -150, -1e9}, -100), reference), "50.0 below; 1 of 3 diverge");
}

TEST(Claims, VerdictsNeedTwoStandardErrors) {
  EXPECT_EQ(is_negative({-1, 1, 16}), Verdict::reproduced);
  EXPECT_EQ(is_negative({-.4, 1, 16}), Verdict::not_decidable);
  EXPECT_EQ(is_negative({1, 1, 16}), Verdict::not_reproduced);
  EXPECT_EQ(is_negative({-1, 0, 9}), Verdict::not_decidable);
}

TEST(Claims, AreReadBack) {
  const test::TemporaryFolder folder;
  EXPECT_TRUE(read_claims(folder.path()).empty());
  save_claims({{"a | b", "1 \"2\"", Verdict::not_decidable, "so"}}, folder.path());
  const auto claims = read_claims(folder.path());
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].claim, "a | b");
  EXPECT_EQ(claims[0].measured, "1 \"2\"");
  EXPECT_EQ(claims[0].verdict, Verdict::not_decidable);
}

// The paper's numbers: B = (1 0; 2 1) becomes (1.02 0; 2.5 0).
TEST(RankExample, IsThePapers) {
  const RankExample example = rank_example();
  EXPECT_TRUE(example.after.isApprox(Matrix{{1.02, 0}, {2.5, 0}}, 1e-14));
  EXPECT_NEAR(example.smallest_before, std::sqrt(2.) - 1, 1e-14);
  EXPECT_LT(example.smallest_after, 1e-15);
  EXPECT_GT(example.smallest_nearby, 1e-5);
  EXPECT_NEAR(example.smallest_on_stiefel, 1, 1e-14);
  EXPECT_NEAR(example.smallest_variance, .01, 1e-14);
}

TEST(Leukemia, TrainingSamplesAloneStandardiseTheProbes) {
  LeukemiaData data{RowMatrix{{1, 1, 5}, {1, 3, 5}, {1, 5, 5}}, RowMatrix{{1, 7, 4}}, Vector(), Vector(), ""};
  const LeukemiaData by_training = standardised_by_training(data);
  EXPECT_TRUE(by_training.training_x.isApprox(RowMatrix{{1, -1, 0}, {1, 0, 0}, {1, 1, 0}}, 1e-14));
  EXPECT_TRUE(by_training.test_x.isApprox(RowMatrix{{1, 2, 0}}, 1e-14));
  // An earlier standardisation per probe leaves no trace.
  for (RowMatrix* x : {&data.training_x, &data.test_x}) x->col(1) = (x->col(1).array() - 4) / 9;
  EXPECT_TRUE(standardised_by_training(data).test_x.isApprox(by_training.test_x, 1e-14));
}

TEST(Simulation, FunctionErrorsAreAgainstTheTrueFunction) {
  const Vector grid = Simulation::grid();
  const Vector truth = (4 * std::numbers::pi * grid.array()).sin();
  EXPECT_NEAR(function_error(truth, grid).rmse, 0, 1e-14);
  Vector off = truth;
  for (Index i = 0; i < grid.size(); ++i)
    if (std::abs(grid(i) - .625) <= .04) off(i) += 1;
  EXPECT_NEAR(function_error(off, grid).at_turning_points, .5, .02);
  EXPECT_LT(function_error(off, grid).rmse, .35);
}

TEST(PaperFigures, HaveEveryMethodOfTheTables) {
  for (const Method& method : table_methods()) {
    EXPECT_TRUE(paper_ionosphere(method.id)) << method.id;
    EXPECT_TRUE(paper_leukemia(method.id)) << method.id;
  }
  EXPECT_TRUE(paper_ionosphere(slang().id));
  EXPECT_FALSE(paper_leukemia(slang().id));
}

}  // namespace
}  // namespace magva::experiments
