// The one verdict on a fit.
#include "assess/assess.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "statistical/targets.hpp"

namespace magva {
namespace {

const FitEnding kConverged{StopReason::kConverged, "", true, true};

auto normal(Index m) {
  return make_model(m, [m](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm() - .5 * static_cast<double>(m) * std::log(2 * std::numbers::pi);
  });
}

Gaussian dense(Index m, double sd) { return Gaussian::dense(Vector::Zero(m), sd * Matrix::Identity(m, m)); }

Assessment assess_with(const Model& model, const Gaussian& q, const FitEnding& ending,
                       const Quantities* quantities = nullptr) {
  Evaluator evaluator(model, 1);
  return assess(evaluator, q, ending, {4000, 1, quantities, std::nullopt});
}

bool has(const Assessment& assessment, WarningKind kind) {
  return std::any_of(assessment.warnings.begin(), assessment.warnings.end(),
                     [&](const Warning& warning) { return warning.kind == kind; });
}

TEST(Assess, TrustsThePosteriorItself) {
  const Assessment found = assess_with(normal(3), dense(3, 1), kConverged);
  EXPECT_TRUE(found.trusted);
  EXPECT_TRUE(found.warnings.empty());
  EXPECT_NEAR(found.elbo, 0, 1e-9);
  EXPECT_LT(found.khat, .5);
}

TEST(Assess, DistrustsWhatDidNotEndAsItShould) {
  for (const StopReason reason : {StopReason::kIterationLimit, StopReason::kTimeLimit,
                                  StopReason::kInterrupted, StopReason::kDiverged}) {
    const Assessment found = assess_with(normal(2), dense(2, 1), {reason, "the reason", false, true});
    EXPECT_FALSE(found.trusted);
    EXPECT_TRUE(has(found, WarningKind::kNotConverged));
    EXPECT_NE(found.warnings.front().message.find("the reason"), std::string::npos);
  }
  EXPECT_TRUE(assess_with(normal(2), dense(2, 1), {StopReason::kIterationLimit, "", true, false}).trusted);
}

// Weights N(0, 1) / N(0, 1.4^2) are bounded: k-hat sees nothing.
TEST(Assess, SeesWhatImportanceWeightsChange) {
  const Assessment found = assess_with(normal(2), dense(2, 1.4), kConverged);
  EXPECT_LT(found.khat, .7);
  ASSERT_EQ(found.doubts.size(), 2);
  EXPECT_EQ(found.doubts.front().parameter.substr(0, 5), "theta");
  // The sd of the log of an sd from some 400 effective draws is .035.
  EXPECT_NEAR(found.doubts.front().sd_ratio, 1 / 1.4, 4 * .035);
  EXPECT_TRUE(has(found, WarningKind::kReweighted));
  // An sd that is twice too large is of no use, unless the fit promises nothing.
  const Assessment wide = assess_with(normal(2), dense(2, 2.2), kConverged);
  EXPECT_FALSE(wide.trusted);
  const Assessment modest =
      assess_with(normal(2), dense(2, 2.2), {StopReason::kIterationLimit, "", true, false});
  EXPECT_TRUE(has(modest, WarningKind::kReweighted));
  EXPECT_TRUE(modest.trusted);
}

// 200 heads of 1,000: k-hat of nearly equal weights is above 1, and means nothing.
TEST(Assess, DoesNotReadTailsIntoNearlyEqualWeights) {
  const auto coin = make_model(1, [](ConstVectorRef theta, VectorRef gradient) {
    const double p = 1 / (1 + std::exp(-theta(0)));
    gradient(0) = 200 - 1000 * p;
    return 200 * theta(0) - 1000 * std::log1p(std::exp(theta(0)));
  });
  const double p = .2;
  const Gaussian q = Gaussian::dense(Vector{{std::log(.25)}}, Matrix{{1 / std::sqrt(1000 * p * (1 - p))}});
  const Assessment found = assess_with(coin, q, kConverged);
  EXPECT_TRUE(found.trusted);
  EXPECT_TRUE(found.warnings.empty());
}

// Ten failures under a wide prior: the posterior goes on to the left, where the Gaussian has no draws.
TEST(Assess, NamesAParameterWithALongTail) {
  const auto none = make_model(1, [](ConstVectorRef theta, VectorRef gradient) {
    gradient(0) = -10 / (1 + std::exp(-theta(0))) - theta(0) / 1000;
    return -10 * std::log1p(std::exp(theta(0))) - theta(0) * theta(0) / 2000;
  });
  // The best Gaussian: mean -18.3, sd 8.9. The posterior is nearly a half-normal: mean -27.5, sd 18.0.
  const Gaussian q = Gaussian::dense(Vector{{-18.3}}, Matrix{{8.9}});
  const Assessment found = assess_with(none, q, kConverged);
  ASSERT_EQ(found.doubts.size(), 1);
  EXPECT_EQ(found.doubts.front().parameter, "theta[1]");
  EXPECT_GT(found.doubts.front().sd_ratio, 1.5);
  EXPECT_FALSE(found.trusted);
}

// theta is nearly right, but exp(3 theta) is not: its sd triples with an sd that is a quarter larger.
TEST(Assess, LooksAtTheQuantitiesThatWillBeRead) {
  const Quantities steep{{"steep"},
                         [](ConstMatrixRef theta) { return Matrix((2 * theta.row(0)).array().exp()); }};
  EXPECT_TRUE(assess_with(normal(1), dense(1, 1.15), kConverged).doubts.empty());
  const Assessment found = assess_with(normal(1), dense(1, 1.15), kConverged, &steep);
  EXPECT_TRUE(has(found, WarningKind::kReweighted));
  EXPECT_EQ(found.doubts.front().parameter, "steep");
}

// A group's sd tau = exp(v) with a long tail to the right, to which no draw of a narrow Gaussian comes: a
// walk of Laplace's method along v does, and says what tau is.
TEST(Assess, JudgesQuantitiesByWalksAlongParameters) {
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    const double v = theta(0), x = theta(1);  // v ~ N(0, 1), x | v ~ N(0, exp(2 v))
    gradient(0) = -v - 1 + x * x * std::exp(-2 * v);
    gradient(1) = -x * std::exp(-2 * v);
    return -.5 * v * v - v - .5 * x * x * std::exp(-2 * v);
  });
  const Quantities read{{"tau"}, [](ConstMatrixRef theta) { return Matrix(theta.row(0).array().exp()); }};
  const Gaussian narrow = Gaussian::dense(Vector::Zero(2), .75 * Matrix::Identity(2, 2));
  const Assessment found = assess_with(model, narrow, kConverged, &read);
  ASSERT_FALSE(found.doubts.empty());
  EXPECT_EQ(found.doubts.front().parameter, "tau");
  // Of a log-normal variable: sds exp(s^2 / 2) sqrt(exp(s^2) - 1) for s = 1 and .75.
  const double ratio =
      std::exp(.5) * std::sqrt(std::expm1(1.)) / (std::exp(.5 * .5625) * std::sqrt(std::expm1(.5625)));
  EXPECT_NEAR(found.doubts.front().sd_ratio, ratio, .25);
}

// Iterations of Algorithm 1 need not end at an optimum, but a Gaussian a hundred times as wide as the
// posterior is no result.
TEST(Assess, DistrustsWhatIsNowhereNearThePosterior) {
  const FitEnding ended{StopReason::kIterationLimit, "", true, false};
  EXPECT_TRUE(assess_with(normal(4), dense(4, 1.2), ended).trusted);
  const Assessment wide = assess_with(normal(4), dense(4, 100), ended);
  EXPECT_FALSE(wide.trusted);
  EXPECT_TRUE(has(wide, WarningKind::kFarFromGaussian));
}

TEST(Assess, DistrustsHeavyTailsOnlyWhereTheOptimumIsClaimed) {
  EXPECT_TRUE(has(assess_with(targets::student(3), dense(3, 1), kConverged), WarningKind::kHeavyTails));
  EXPECT_FALSE(
      has(assess_with(targets::student(3), dense(3, 1), {StopReason::kIterationLimit, "", true, false}),
          WarningKind::kHeavyTails));
}

/// Independent Student t coordinates.
auto student(Index m, double nu) {
  return make_model(m, [nu](ConstVectorRef theta, VectorRef gradient) {
    gradient = -(nu + 1) * theta.array() / (nu + theta.array().square());
    return -.5 * (nu + 1) * (theta.array().square() / nu).log1p().sum();
  });
}

// Tails that change no sd by more than a tenth mislead nobody.
TEST(Assess, CountsHeavyTailsOnlyWhereTheyMatter) {
  const Assessment right = assess_with(student(2, 8), dense(2, std::sqrt(8. / 6)), kConverged);
  EXPECT_TRUE(right.trusted);
  EXPECT_TRUE(right.warnings.empty());
  const Assessment narrow = assess_with(student(2, 5), dense(2, 1), kConverged);
  ASSERT_TRUE(has(narrow, WarningKind::kHeavyTails));
  EXPECT_FALSE(narrow.trusted);
  ASSERT_EQ(narrow.doubts.size(), 2);
  // Of some thousand effective draws with a kurtosis of 9: three standard errors.
  EXPECT_NEAR(narrow.doubts.front().sd_ratio, std::sqrt(5. / 3), .2);
}

// Weights correct what the draws reach, not a tail that they never see.
TEST(Assess, AdvisesACorrectionOnlyWhereItWorks) {
  const auto message = [](const Assessment& found) {
    for (const Warning& warning : found.warnings)
      if (warning.kind == WarningKind::kReweighted) return warning.message;
    return std::string();
  };
  const std::string wide = message(assess_with(normal(2), dense(2, 1.4), kConverged));
  EXPECT_NE(wide.find("--correct"), std::string::npos) << wide;
  const auto none = make_model(1, [](ConstVectorRef theta, VectorRef gradient) {
    gradient(0) = -10 / (1 + std::exp(-theta(0))) - theta(0) / 1000;
    return -10 * std::log1p(std::exp(theta(0))) - theta(0) * theta(0) / 2000;
  });
  const std::string tail =
      message(assess_with(none, Gaussian::dense(Vector{{-18.3}}, Matrix{{8.9}}), kConverged));
  EXPECT_FALSE(tail.empty());
  EXPECT_EQ(tail.find("--correct"), std::string::npos) << tail;
}

TEST(Assess, CountsDrawsThatWereNotFinite) {
  const auto half = make_model(1, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return theta(0) < 0 ? -std::numeric_limits<double>::infinity() : -.5 * theta(0) * theta(0);
  });
  const Assessment found = assess_with(half, dense(1, 1), kConverged);
  EXPECT_TRUE(has(found, WarningKind::kRejectedDraws));
  EXPECT_FALSE(found.trusted);
}

}  // namespace
}  // namespace magva
