// Interrupts and limits hold in every phase: counted in evaluations, not in seconds.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "magva/fit.hpp"
#include "magva/minibatch.hpp"
#include "statistical/targets.hpp"
#include "unit/model/support.hpp"

namespace magva {
namespace {

/// Of a result that was stopped early, with one that is timed before a batch.
constexpr std::int64_t kHurriedDraws = 200 + 1;

/// Counts the columns that it evaluates.
class Counting final : public Model {
 public:
  explicit Counting(const Model& model) : model_(model) {}
  Index dimension() const override { return model_.dimension(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    evaluations += theta.cols();
    model_.evaluate(theta, log_density, gradient, evaluation);
  }
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override {
    return model_.make_scratch(max_draws);
  }
  Vector start() const override { return model_.start(); }

  mutable std::atomic<std::int64_t> evaluations{0};

 private:
  const Model& model_;
};

FitOptions options_for(Phase phase) {
  FitOptions options;
  options.threads = 1;
  options.diagnostic_draws = 400;
  if (phase == Phase::kAlternatives || phase == Phase::kQuadratic) options.rank = 1;
  if (phase == Phase::kIterations) options.algorithm1 = Algorithm1Options{};
  if (phase == Phase::kIterations) options.rank = 1;
  return options;
}

class StopIn : public ::testing::TestWithParam<Phase> {};

TEST_P(StopIn, EndsAtOnceWithAResult) {
  const Phase phase = GetParam();
  const auto one = targets::chain(6);
  const auto two = targets::two_modes(2, 3);
  const Counting model(phase == Phase::kComparison ? static_cast<const Model&>(two) : one);
  std::int64_t when_stopped = -1;
  const FitResult result = fit(model, options_for(phase), {[&](const FitView& view) {
                                 if (view.phase != phase) return true;
                                 if (when_stopped < 0) when_stopped = model.evaluations;
                                 return false;
                               }});
  ASSERT_GE(when_stopped, 0) << "the fit had no " << to_string(phase);
  EXPECT_LE(model.evaluations - when_stopped, kHurriedDraws);
  EXPECT_EQ(result.stopped, StopReason::kInterrupted);
  EXPECT_NE(result.stop_detail.find(to_string(phase)), std::string::npos) << result.stop_detail;
  EXPECT_FALSE(result.trusted);
  EXPECT_TRUE(result.posterior.mean().allFinite());
  EXPECT_TRUE((result.posterior.sd().array() > 0).all());
}

INSTANTIATE_TEST_SUITE_P(AllPhases, StopIn,
                         ::testing::Values(Phase::kSearch, Phase::kCurvature, Phase::kQuadratic,
                                           Phase::kComparison, Phase::kRefinement, Phase::kAlternatives,
                                           Phase::kIterations, Phase::kAssessment));

class StopMinibatchIn : public ::testing::TestWithParam<Phase> {};

TEST_P(StopMinibatchIn, EndsWithAResult) {
  const Phase phase = GetParam();
  const auto full = std::make_shared<const Regression>(linear_regression(
      {Design::own(testing::random_design(2000, 3, 1)), testing::normal_matrix(2000, 1, 2), {}, {}},
      NormalPriorOptions{}));
  const Minibatch model(full, {100, 1, 1});
  FitOptions options;
  options.diagnostic_draws = 100;
  int views_after = 0;
  bool stopped = false;
  const FitResult result = fit(model, options, {[&](const FitView& view) {
                                 views_after += stopped ? 1 : 0;
                                 stopped = stopped || view.phase == phase;
                                 return !stopped;
                               }});
  ASSERT_TRUE(stopped) << "the fit had no " << to_string(phase);
  EXPECT_EQ(views_after, 0);
  EXPECT_EQ(result.stopped, StopReason::kInterrupted);
  EXPECT_FALSE(result.trusted);
  EXPECT_TRUE(result.posterior.mean().allFinite());
}

INSTANTIATE_TEST_SUITE_P(AllPhases, StopMinibatchIn,
                         ::testing::Values(Phase::kSample, Phase::kPasses, Phase::kRefinement,
                                           Phase::kAssessment));

TEST(Limits, OfTimeEndAFitInItsFirstEvaluations) {
  const auto chain = targets::chain(6);
  const Counting model(chain);
  FitOptions options;
  options.threads = 1;
  options.time_limit = 1e-9;
  const FitResult result = fit(model, options);
  EXPECT_EQ(result.stopped, StopReason::kTimeLimit);
  EXPECT_LE(model.evaluations, kHurriedDraws);
}

TEST(Limits, OfGradientsHoldInEveryStage) {
  const auto chain = targets::chain(6);
  for (const std::int64_t limit : {5, 50, 200, 1000}) {
    FitOptions options;
    options.max_evaluations = limit;
    const FitResult result = fit(chain, options);
    EXPECT_EQ(result.stopped, StopReason::kIterationLimit) << limit;
    // One batch may begin below the limit: 32 draws of the first refinement, 64 of a curvature.
    EXPECT_LE(result.gradient_evaluations, limit + 64) << limit;
  }
}

TEST(Limits, OfIterationsHold) {
  FitOptions options;
  options.max_iterations = 3;
  const FitResult result = fit(targets::student(3), options);
  EXPECT_EQ(result.stopped, StopReason::kIterationLimit);
  EXPECT_EQ(result.iterations, 3);
}

TEST(Observers, SeeThePhasesInOrder) {
  std::vector<Phase> seen;
  FitOptions options;
  options.rank = 1;
  fit(targets::chain(6), options, {[&](const FitView& view) {
        if (seen.empty() || seen.back() != view.phase) seen.push_back(view.phase);
        return true;
      }});
  const std::vector<Phase> first(seen.begin(), seen.begin() + 2);
  EXPECT_EQ(first, (std::vector<Phase>{Phase::kSearch, Phase::kCurvature}));
  EXPECT_EQ(seen.back(), Phase::kAssessment);
  EXPECT_TRUE(std::set<Phase>(seen.begin(), seen.end()).count(Phase::kRefinement));
}

}  // namespace
}  // namespace magva
