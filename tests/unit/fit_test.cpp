// The fit as a user meets it: options, stops, interrupts, checkpoints, threads, models that misbehave.
#include "algorithm1/fitter.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "magva/error.hpp"
#include "support/targets.hpp"
#include "support/temporary_folder.hpp"

namespace magva {
namespace {

constexpr FamilyKind kAll[] = {FamilyKind::kMeanField, FamilyKind::kVafc,      FamilyKind::kStiefel,
                               FamilyKind::kGrassmann, FamilyKind::kFixedRank, FamilyKind::kFullRank};

auto small_logistic() {
  return test::logistic_target(test::random_matrix(40, 6, 1), test::random_labels(40, 2), 10);
}

FitterOptions options_for(FamilyKind kind, std::int64_t iterations) {
  FitterOptions options;
  options.family = kind;
  options.rank = 2;
  options.max_iterations = iterations;
  return options;
}

void expect_same_bits(const Gaussian& a, const Gaussian& b, const std::string& label) {
  EXPECT_EQ(a.mean(), b.mean()) << label;
  EXPECT_EQ(a.factors(), b.factors()) << label;
  EXPECT_EQ(a.residual_sd(), b.residual_sd()) << label;
}

TEST(FitterOptions, ReportEveryFaultAtOnce) {
  FitterOptions options;
  options.rank = -1;
  options.draws = 0;
  options.threads = 0;
  options.max_iterations = 0;
  options.time_limit = -1;
  options.mean_rule.step = -1;
  options.average_last = 2;
  EXPECT_EQ(options.validate(5).size(), 7U);
  try {
    Fitter(small_logistic(), options);
    FAIL() << "faulty options were accepted";
  } catch (const UsageError& error) {
    for (const char* field : {"rank", "draws", "threads", "max_iterations", "time_limit", "mean_rule.step"})
      EXPECT_NE(std::string(error.what()).find(field), std::string::npos) << field;
  }
}

TEST(FitterOptions, RefuseARankAboveTheDimensionAndOddAntitheticDraws) {
  FitterOptions options;
  options.rank = 7;
  EXPECT_EQ(options.validate(6).size(), 1U);
  options.rank = 6;
  options.antithetic = true;
  options.draws = 3;
  EXPECT_EQ(options.validate(6).size(), 1U);
}

TEST(Fit, EveryFamilyWorksFromRankZeroToM) {
  const auto model = small_logistic();
  for (const FamilyKind kind : kAll)
    for (Index rank = 0; rank <= 6; rank += 3) {
      FitterOptions options = options_for(kind, 50);
      options.rank = rank;
      const FitterResult result = Fitter(model, options).run();
      EXPECT_EQ(result.stopped, StopReason::kIterationLimit) << name(kind) << " " << rank;
      EXPECT_TRUE(result.posterior.mean().allFinite());
      EXPECT_TRUE((result.posterior.sd().array() > 0).all());
    }
}

TEST(Fit, DimensionOneAndEmptyModels) {
  const auto one = test::gaussian_target(Vector::Constant(1, 2.), Matrix::Identity(1, 1), 0);
  FitterOptions options = options_for(FamilyKind::kStiefel, 20);
  options.rank = 1;
  EXPECT_EQ(Fitter(one, options).run().iterations, 20);
  const auto none = make_model(0, [](ConstVectorRef, VectorRef) { return 0.; });
  EXPECT_THROW(Fitter(none, options), UsageError);
}

TEST(Fit, RefusesAStartOfAnotherDimension) {
  const auto model = small_logistic();
  EXPECT_THROW(Fitter(model, FitterOptions{}, Whitening::none(6), Vector::Zero(5)), UsageError);
  EXPECT_THROW(Fitter(model, FitterOptions{}, Whitening::none(4), Vector::Zero(6)), UsageError);
  Whitening flat = Whitening::none(6);
  flat.scale(3) = 0;
  EXPECT_THROW(Fitter(model, FitterOptions{}, flat, Vector::Zero(6)), UsageError);
}

TEST(Fit, AnInterruptKeepsAUsableResult) {
  const auto model = small_logistic();
  const auto stop_at_7 = [](const IterationView& view) { return view.iteration < 7; };
  const FitterResult result = Fitter(model, options_for(FamilyKind::kStiefel, 1000)).run({stop_at_7});
  EXPECT_EQ(result.stopped, StopReason::kInterrupted);
  EXPECT_EQ(result.iterations, 7);
  EXPECT_EQ(result.gradient_evaluations, 7);
  EXPECT_TRUE(result.posterior.mean().allFinite());
}

TEST(Fit, StopsAtTheTimeLimit) {
  FitterOptions options = options_for(FamilyKind::kStiefel, 1'000'000'000);
  options.time_limit = .05;
  EXPECT_EQ(Fitter(small_logistic(), options).run().stopped, StopReason::kTimeLimit);
}

void save(const Fitter& fitter, const std::filesystem::path& path) {
  io::ChecksummedWriter out(path, "checkpoint", 1);
  fitter.save(out);
  out.commit();
}

Fitter resume(const std::filesystem::path& path, const Model& model, int threads = 1) {
  io::ChecksummedReader in(path, "checkpoint", 1);
  return Fitter::resume(in, model, threads);
}

TEST(Fit, ResumedEqualsUninterruptedForEveryFamilyAndRule) {
  const auto model = small_logistic();
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "checkpoint";
  for (const FamilyKind kind : kAll)
    for (const RuleKind rule :
         {RuleKind::kBasic, RuleKind::kMomentum, RuleKind::kRmsprop, RuleKind::kAdadeltaGuarded,
          RuleKind::kRmspropStable, RuleKind::kAdadeltaStable, RuleKind::kAdam}) {
      FitterOptions options = options_for(kind, 60);
      options.factor_rule = rule_defaults(rule);
      options.mean_rule = rule_defaults(rule);
      options.scale_rule = rule_defaults(rule);
      for (RuleOptions* r : {&options.factor_rule, &options.mean_rule, &options.scale_rule}) r->step = .01;
      options.average_last = .5;
      options.decay = StepDecay::kCosine;
      const FitterResult whole = Fitter(model, options).run();
      for (const std::int64_t at : {1, 29, 45}) {
        Fitter first(model, options);
        for (std::int64_t t = 0; t < at; ++t) first.step();
        save(first, path);
        const FitterResult resumed = resume(path, model, 2).run();
        EXPECT_EQ(resumed.gradient_evaluations, whole.gradient_evaluations);
        expect_same_bits(whole.posterior, resumed.posterior, std::string(name(kind)) + " " + name(rule));
      }
    }
}

TEST(Fit, ThreadsDoNotChangeTheBits) {
  // Large enough that every kernel is cut into several tasks.
  const Index m = 40'000;
  const auto model = make_model(m, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  });
  for (const FamilyKind kind :
       {FamilyKind::kMeanField, FamilyKind::kStiefel, FamilyKind::kFixedRank, FamilyKind::kVafc}) {
    FitterOptions options = options_for(kind, 4);
    options.rank = 3;
    options.draws = 4;
    options.antithetic = true;
    options.estimator = Estimator::kPath;
    options.natural_mean = true;
    const FitterResult one = Fitter(model, options).run();
    for (const int threads : {2, 4}) {
      options.threads = threads;
      expect_same_bits(one.posterior, Fitter(model, options).run().posterior, name(kind));
    }
  }
}

TEST(Fit, OtherSeedsGiveOtherResults) {
  const auto model = small_logistic();
  FitterOptions options = options_for(FamilyKind::kStiefel, 30);
  const FitterResult one = Fitter(model, options).run();
  expect_same_bits(one.posterior, Fitter(model, options).run().posterior, "the same seed");
  options.seed = 2;
  EXPECT_NE(one.posterior.mean(), Fitter(model, options).run().posterior.mean());
}

// A standard normal whose log density is not finite in some calls.
template <class When>
auto faulty(When when) {
  return make_model(3, [calls = std::make_shared<int>(0), when](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return when((*calls)++) ? std::numeric_limits<double>::quiet_NaN() : -.5 * theta.squaredNorm();
  });
}

TEST(Fit, SurvivesNonFiniteDrawsAtTheStartAndInTheMiddle) {
  for (const auto& when : {std::function([](int call) { return call < 20; }),
                           std::function([](int call) { return call > 100 && call < 150; })}) {
    const auto model = faulty(when);
    const FitterResult result = Fitter(model, options_for(FamilyKind::kStiefel, 300)).run();
    EXPECT_EQ(result.stopped, StopReason::kIterationLimit);
    EXPECT_GE(result.rejected_draws, 20);
    EXPECT_TRUE(result.posterior.mean().allFinite());
  }
}

TEST(Fit, SaysSoWhereEveryDrawIsRejected) {
  const auto model = faulty([](int) { return true; });
  const FitterResult result = Fitter(model, options_for(FamilyKind::kStiefel, 3000)).run();
  EXPECT_EQ(result.stopped, StopReason::kDiverged);
  EXPECT_EQ(result.iterations, 100);
  EXPECT_NE(result.stop_detail.find("not finite"), std::string::npos);
  EXPECT_TRUE(result.posterior.mean().allFinite());
}

TEST(Fit, ANonFiniteGradientRejectsTheDrawToo) {
  const auto model = make_model(2, [](ConstVectorRef, VectorRef gradient) {
    gradient.setConstant(std::numeric_limits<double>::infinity());
    return 0.;
  });
  EXPECT_EQ(Fitter(model, options_for(FamilyKind::kMeanField, 500)).run().stopped, StopReason::kDiverged);
}

TEST(Fit, SaysSoWhereTheParametersOverflow) {
  // log h = |theta|^2 has no maximum: constant steps grow without end.
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = 1e3 * theta;
    return 5e2 * theta.squaredNorm();
  });
  FitterOptions options = options_for(FamilyKind::kMeanField, 100'000);
  options.mean_rule = rule_defaults(RuleKind::kBasic);
  options.scale_rule = rule_defaults(RuleKind::kBasic);
  const FitterResult result = Fitter(model, options).run();
  EXPECT_EQ(result.stopped, StopReason::kDiverged);
  EXPECT_TRUE(result.posterior.mean().allFinite());
}

TEST(Fit, AnUnwritableCheckpointIsAClearError) {
  const auto model = small_logistic();
  const Fitter fitter(model, options_for(FamilyKind::kStiefel, 10));
  try {
    save(fitter, "/nonexistent-folder/checkpoint");
    FAIL() << "an unwritable path was accepted";
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent-folder/checkpoint"), std::string::npos);
  }
}

TEST(Fit, ACheckpointOfAnotherModelOrADamagedOneIsRefused) {
  const auto model = small_logistic();
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "checkpoint";
  save(Fitter(model, options_for(FamilyKind::kStiefel, 10)), path);
  const auto other = test::logistic_target(test::random_matrix(40, 7, 1), test::random_labels(40, 2), 10);
  EXPECT_THROW(resume(path, other), DataError);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 9);
  EXPECT_THROW(resume(path, model), DataError);
  EXPECT_THROW(resume(folder.path() / "none", model), IoError);
}

TEST(Fit, TheLiteralAdadeltaRunsOnStiefelWithoutANonFiniteNumber) {
  const auto model = test::logistic_target(test::random_matrix(200, 30, 3), test::random_labels(200, 4), 10);
  for (const RuleKind rule : {RuleKind::kAdadelta, RuleKind::kAdadeltaGuarded, RuleKind::kRmsprop}) {
    FitterOptions options = options_for(FamilyKind::kStiefel, 5000);
    options.rank = 4;
    options.factor_rule = rule_defaults(rule);
    bool finite = true;
    const FitterResult result = Fitter(model, options).run({[&](const IterationView& view) {
      return finite = std::isfinite(view.elbo);
    }});
    EXPECT_TRUE(finite) << name(rule) << " at iteration " << result.iterations;
    EXPECT_EQ(result.iterations, 5000);
    EXPECT_TRUE(result.posterior.mean().allFinite() && result.posterior.factors().allFinite());
  }
}

}  // namespace
}  // namespace magva
