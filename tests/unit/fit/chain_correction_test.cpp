// What short chains make of results that are right, and of some that are not.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "fit/runs.hpp"
#include "magva/model.hpp"

namespace magva {
namespace {

constexpr Index kCorrectedCoordinates = 60;

/// Independent standard normals, but for the first, which is log chi-square with four degrees of freedom.
auto normals_and_a_log_gamma() {
  return make_model(kCorrectedCoordinates, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    gradient(0) = 2 - .5 * std::exp(theta(0));
    return -.5 * theta.tail(theta.size() - 1).squaredNorm() + 2 * theta(0) - .5 * std::exp(theta(0));
  });
}

/// psi(2) + log 2, and the square root of psi'(2).
constexpr double kLogGammaMean = 1.1159315;
constexpr double kLogGammaSd = .8030757;

Vector true_mean() {
  Vector out = Vector::Zero(kCorrectedCoordinates);
  out(0) = kLogGammaMean;
  return out;
}

Vector true_sd() {
  Vector out = Vector::Ones(kCorrectedCoordinates);
  out(0) = kLogGammaSd;
  return out;
}

FitResult result_of(const Vector& mean, const Vector& sd) {
  Assessment assessment;
  assessment.ending = {StopReason::kConverged, "", true, true};
  return assessed(Gaussian::low_rank(mean, Matrix(mean.size(), 0), sd), std::move(assessment));
}

TEST(ChainCorrection, LeavesWhatIsRightAndAnswersADoubt) {
  const auto model = normals_and_a_log_gamma();
  FitResult result = result_of(true_mean(), true_sd());
  result.warnings.push_back({WarningKind::kKhat, "k-hat is .8"});
  correct_by_chains(model, {}, {}, result);
  EXPECT_TRUE(result.trusted);
  EXPECT_TRUE(result.warnings.empty());
  EXPECT_GT(result.chain_draws, 0);
  // Standard errors are below .05, and the largest of 60 is three of them.
  EXPECT_LT((result.posterior.best().mean() - true_mean()).cwiseAbs().maxCoeff(), .15);
  EXPECT_LT((result.posterior.best().sd().cwiseQuotient(true_sd()).array() - 1).abs().maxCoeff(), .15);
}

TEST(ChainCorrection, KeepsTheWarningOfAFitThatWasNotTrusted) {
  const auto model = normals_and_a_log_gamma();
  for (const WarningKind kind : {WarningKind::kKhat, WarningKind::kNotConverged}) {
    FitResult result = result_of(true_mean(), true_sd());
    result.warnings.push_back({kind, "poor"});
    result.trusted = false;
    correct_by_chains(model, {}, {}, result);
    EXPECT_EQ(result.warnings.size(), 1U);
    EXPECT_EQ(result.trusted, kind == WarningKind::kKhat);
  }
}

TEST(ChainCorrection, MendsMeansAndSds) {
  const auto model = normals_and_a_log_gamma();
  Vector mean = true_mean(), sd = true_sd();
  mean(3) += .8;
  sd(5) /= 1.6;
  FitResult result = result_of(mean, sd);
  correct_by_chains(model, {}, {}, result);
  EXPECT_TRUE(result.trusted);
  EXPECT_TRUE(result.warnings.empty());
  EXPECT_GT(result.chain_draws, 0);
  const Posterior& best = result.posterior.best();
  EXPECT_LT((best.mean() - true_mean()).cwiseQuotient(true_sd()).cwiseAbs().maxCoeff(), .15);
  EXPECT_LT((best.sd().cwiseQuotient(true_sd()).array() - 1).abs().maxCoeff(), .15);
  // The fitted Gaussian itself stays.
  EXPECT_EQ(result.posterior.mean(), mean);
}

/// Normals with the mean 0 and the sd 1, of which the second depends on the square of the third.
auto normals_and_a_banana() {
  return make_model(kCorrectedCoordinates, [](ConstVectorRef theta, VectorRef gradient) {
    const double bend = (theta(2) * theta(2) - 1) / 2;
    const double off = 2 * (theta(1) - bend);  // a variance of 1/2, as that of the bend
    gradient = -theta;
    gradient(1) = -off;
    gradient(2) += off * theta(2);
    return -.5 * (theta.squaredNorm() - theta(1) * theta(1)) - .25 * off * off;
  });
}

// Chains go on in the metric of where they have come to.
TEST(ChainCorrection, FollowsWhatIsFarWider) {
  Vector sd = true_sd();
  sd(4) = .02;
  FitResult result = result_of(true_mean(), sd);
  correct_by_chains(normals_and_a_log_gamma(), {}, {}, result);
  EXPECT_TRUE(result.warnings.empty());
  // Chains know log sds to .05.
  EXPECT_NEAR(std::log(result.posterior.best().sd()(4)), 0, .15);
}

// Each round makes it wider by a factor of some eight; four of them are not enough for one of 100,000.
TEST(ChainCorrection, SaysWhatMovesFromRoundToRound) {
  Vector sd = true_sd();
  sd(4) = 1e-5;
  FitResult result = result_of(true_mean(), sd);
  correct_by_chains(normals_and_a_log_gamma(), {}, {}, result);
  EXPECT_LT(result.posterior.best().sd()(4), .7);
  EXPECT_FALSE(result.trusted);
  EXPECT_TRUE(std::any_of(result.warnings.begin(), result.warnings.end(), [](const Warning& warning) {
    return warning.message.find("still move theta[5]") != std::string::npos;
  }));
}

/// An intercept, and effects that have it with the other sign and something of their own.
constexpr double kOwn = .5;
Gaussian intercept_and_effects(double sd) {
  Matrix factor = Matrix::Constant(kCorrectedCoordinates, 1, -sd);
  Vector own = Vector::Constant(kCorrectedCoordinates, kOwn);
  factor(0, 0) = sd;
  own(0) = .01;
  return Gaussian::low_rank(Vector::Zero(kCorrectedCoordinates), factor, own);
}

// An intercept that is too narrow stretches all effects, too, and with these what is their own, which is
// right. The chains' covariance knows both.
TEST(ChainCorrection, KnowsSumsThatMarginsWouldSpoil) {
  const Gaussian truth = intercept_and_effects(1.6);
  const auto model = make_model(kCorrectedCoordinates, [&](ConstVectorRef theta, VectorRef gradient) {
    gradient = -truth.solve(theta);
    return .5 * theta.dot(gradient);
  });
  FitResult result = result_of(Vector::Zero(1), Vector::Ones(1));
  result.posterior = intercept_and_effects(1);
  result.warnings.push_back({WarningKind::kKhat, "k-hat is .8"});
  correct_by_chains(model, {}, {}, result);
  EXPECT_GT(result.chain_draws, 0);
  EXPECT_TRUE(result.doubts.empty());
  // Chains know log sds to .05.
  EXPECT_NEAR(std::log(result.posterior.best().sd()(0) / 1.6), 0, .15);
  const Matrix draws = result.posterior.best().draws(2000, 5);
  const Eigen::ArrayXd own = draws.row(1) - draws.row(2);
  // 2,000 draws know it to 1.6 %.
  EXPECT_NEAR(std::sqrt(own.square().mean()) / (std::sqrt(2.) * kOwn), 1, .08);
}

TEST(ChainCorrection, NamesQuantitiesThatNoMarginMends) {
  const auto model = normals_and_a_banana();
  Vector sd = Vector::Ones(kCorrectedCoordinates);
  sd(5) /= 1.6;
  FitResult result = result_of(Vector::Zero(kCorrectedCoordinates), sd);
  FitOptions options;
  // E[(z^2 - 1) / 2 cos(1.5 z)] = -.37, and 0 for any margins that are independent of each other.
  options.quantities = Quantities{{"product", "five"}, [](ConstMatrixRef theta) {
                                    Matrix out(2, theta.cols());
                                    out.row(0) = theta.row(1).array() * (1.5 * theta.row(2).array()).cos();
                                    out.row(1) = theta.row(5);
                                    return out;
                                  }};
  correct_by_chains(model, options, {}, result);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_NE(result.warnings.front().message.find("product"), std::string::npos);
  ASSERT_EQ(result.doubts.size(), 1U);
  EXPECT_EQ(result.doubts.front().parameter, "product");
}

/// The first coordinate is the logarithm of a gamma variate, a scale that may be near zero.
constexpr double kSmallShape = .5;
auto normals_and_a_small_scale() {
  return make_model(kCorrectedCoordinates, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    gradient(0) = kSmallShape - std::exp(theta(0));
    return -.5 * theta.tail(theta.size() - 1).squaredNorm() + kSmallShape * theta(0) - std::exp(theta(0));
  });
}

// The logarithm has a long lower tail and a short upper one. With a long one on both sides the scale would
// have a sd of many times its own.
TEST(ChainCorrection, GivesScalesThatAreNearZeroTheirMeanAndSd) {
  constexpr int kSeeds = 8;
  Vector mean = Vector::Zero(kCorrectedCoordinates), sd = Vector::Ones(kCorrectedCoordinates);
  mean(0) = -1.9635;  // psi(1/2), and the square root of psi'(1/2)
  sd(0) = 2.2214;
  FitOptions options;
  options.quantities =
      Quantities{{"scale"}, [](ConstMatrixRef theta) { return Matrix(theta.row(0).array().exp()); }};
  double mean_error = 0, log_sd_error = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    FitResult result = result_of(mean, sd);
    options.seed = static_cast<std::uint64_t>(seed);
    correct_by_chains(normals_and_a_small_scale(), options, {}, result);
    EXPECT_GT(result.chain_draws, 0);
    EXPECT_TRUE(result.trusted);
    const Eigen::ArrayXd scale = result.posterior.best().draws(50'000, 5).row(0).array().exp();
    mean_error += (scale.mean() - kSmallShape) / std::sqrt(kSmallShape) / kSeeds;
    log_sd_error += .5 * std::log((scale - scale.mean()).square().mean() / kSmallShape) / kSeeds;
  }
  // From seed to seed the first varies by .04 and the second by .09; the margin's upper tail is shorter than
  // the scale's, which takes an eighth off its sd. Three standard errors of the means beside that.
  EXPECT_NEAR(mean_error, 0, .05);
  EXPECT_NEAR(log_sd_error, -.13, .1);
}

/// The first coordinate is the logarithm of the sd of the next five, N(0, .5^2).
constexpr double kFunnelLogSd = .5;
constexpr Index kFunnelEffects = 5;
auto normals_and_a_funnel() {
  return make_model(kCorrectedCoordinates, [](ConstVectorRef theta, VectorRef gradient) {
    const double precision = std::exp(-2 * theta(0));
    const double squares = precision * theta.segment(1, kFunnelEffects).squaredNorm();
    gradient = -theta;
    gradient(0) = -theta(0) / (kFunnelLogSd * kFunnelLogSd) + squares - kFunnelEffects;
    gradient.segment(1, kFunnelEffects) *= precision;
    return -.5 * (std::pow(theta(0) / kFunnelLogSd, 2) + squares +
                  theta.tail(kCorrectedCoordinates - 1 - kFunnelEffects).squaredNorm()) -
           kFunnelEffects * theta(0);
  });
}

// An effect in units of its sd has the sd 1; if both were independent it would be exp(.5), whatever their
// margins.
TEST(ChainCorrection, MendsByCellsWhatNoMarginsMend) {
  Vector sd = Vector::Ones(kCorrectedCoordinates);
  sd(0) = kFunnelLogSd;
  sd.segment(1, kFunnelEffects).setConstant(std::exp(kFunnelLogSd * kFunnelLogSd));
  FitResult result = result_of(Vector::Zero(kCorrectedCoordinates), sd);
  FitOptions options;
  options.quantities = Quantities{{"standardised"}, [](ConstMatrixRef theta) -> Matrix {
                                    return theta.row(1).array() * (-theta.row(0).array()).exp();
                                  }};
  correct_by_chains(normals_and_a_funnel(), options, {}, result);
  EXPECT_STREQ(result.posterior.best().shape(), "mixture");
  EXPECT_TRUE(result.trusted);
  EXPECT_TRUE(result.doubts.empty());
  const Matrix draws = result.posterior.best().draws(20'000, 5);
  const Eigen::ArrayXd found = options.quantities->at(draws).row(0);
  // Chains know log sds to .05, and cells add less.
  EXPECT_NEAR(.5 * std::log((found - found.mean()).square().mean()), 0, .1);
}

TEST(ChainCorrection, IsNotForFitsThatHaveNotConvergedNorForOtherDoubts) {
  const auto model = normals_and_a_log_gamma();
  Vector mean = true_mean();
  mean(3) += .8;
  FitResult unfinished = result_of(mean, true_sd());
  unfinished.stopped = StopReason::kTimeLimit;
  FitResult several = result_of(mean, true_sd());
  several.warnings.push_back({WarningKind::kSeveralModes, "starts disagree"});
  for (FitResult* result : {&unfinished, &several}) {
    correct_by_chains(model, {}, {}, *result);
    EXPECT_EQ(result->chain_draws, 0);
    EXPECT_EQ(result->posterior.best().mean(), mean);
  }
}

}  // namespace
}  // namespace magva
