// Short chains against posteriors with known moments.
#include "assess/short_chains.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "magva/model.hpp"

namespace magva {
namespace {

constexpr Index kChainCoordinates = 50;
constexpr Index kChainCount = 64;

Gaussian standard_normal() {
  return Gaussian::low_rank(Vector::Zero(kChainCoordinates), Matrix(kChainCoordinates, 0),
                            Vector::Ones(kChainCoordinates));
}

/// Independent normals.
auto independent_normals(double mean, double sd) {
  return make_model(kChainCoordinates, [mean, sd](ConstVectorRef theta, VectorRef gradient) {
    const Eigen::ArrayXd z = (theta.array() - mean) / sd;
    gradient = -z / sd;
    return -.5 * z.square().sum();
  });
}

ShortChains chains_of(Evaluator& evaluator, const Gaussian& q) {
  return {evaluator, q, q, q.draws(kChainCount, 3), 4};
}

TEST(ShortChains, OfTheApproximationItselfStayThere) {
  const auto model = independent_normals(0, 1);
  const Gaussian q = standard_normal();
  Evaluator evaluator(model, 1);
  ShortChains chains = chains_of(evaluator, q);
  ASSERT_TRUE(chains.settle());
  const ChainMoments found = chains.run(40, nullptr).coordinates;
  // 2,560 draws, of which neighbours are correlated.
  EXPECT_LT(found.mean_se.maxCoeff(), .06);
  EXPECT_LT(found.log_sd_se.maxCoeff(), .04);
  // The largest of 50 in units of its error, which itself is known to a tenth.
  EXPECT_LT(found.mean.cwiseQuotient(found.mean_se).cwiseAbs().maxCoeff(), 4);
  EXPECT_LT((found.sd.array().log() / found.log_sd_se.array()).abs().maxCoeff(), 4);
  // Standard errors are those of the scatter: to four times its own error, 1 / sqrt(2 * 50).
  EXPECT_NEAR(found.mean.cwiseQuotient(found.mean_se).squaredNorm() / kChainCoordinates, 1, .8);
}

TEST(ShortChains, MoveToWhereThePosteriorIs) {
  const auto model = independent_normals(.5, 1.5);
  const Gaussian q = standard_normal();
  Evaluator evaluator(model, 1);
  ShortChains chains = chains_of(evaluator, q);
  ASSERT_TRUE(chains.settle());
  chains.run(20, nullptr);
  const ChainMoments found = chains.run(80, nullptr).coordinates;
  EXPECT_LT(((found.mean.array() - .5) / found.mean_se.array()).abs().maxCoeff(), 4);
  EXPECT_LT(((found.sd.array() / 1.5).log() / found.log_sd_se.array()).abs().maxCoeff(), 4);
  EXPECT_LT(found.mean_se.maxCoeff(), .1);
}

/// A standard normal v, and normals with the variance exp(v).
auto funnel() {
  return make_model(kChainCoordinates, [](ConstVectorRef theta, VectorRef gradient) {
    const auto others = static_cast<double>(kChainCoordinates - 1);
    const double v = theta(0), precision = std::exp(-v);
    const double squares = theta.tail(kChainCoordinates - 1).squaredNorm();
    gradient = -precision * theta;
    gradient(0) = -v - .5 * others + .5 * precision * squares;
    return -.5 * (v * v + others * v + precision * squares);
  });
}

TEST(ShortChains, TakeShorterStepsWhereTheyComeToNarrowerPlaces) {
  const auto model = funnel();
  Vector mean = Vector::Zero(kChainCoordinates), sd = Vector::Constant(kChainCoordinates, std::exp(.75));
  mean(0) = 1.5;
  sd(0) = .2;
  const Gaussian wide_end = Gaussian::low_rank(mean, Matrix(kChainCoordinates, 0), sd);
  Evaluator evaluator(model, 1);
  ShortChains chains = chains_of(evaluator, wide_end);
  ASSERT_TRUE(chains.settle());
  const std::int64_t before = chains.gradients();
  for (const int iterations : {20, 40, 80, 160, 320}) chains.run(iterations, nullptr);
  EXPECT_GT(chains.gradients(), before);
  const ChainMoments found = chains.run(1000, nullptr).coordinates;
  EXPECT_LT(std::abs(found.mean(0)), 4 * found.mean_se(0));
  EXPECT_LT(std::abs(std::log(found.sd(0))), 4 * found.log_sd_se(0));
  EXPECT_LT(found.mean_se(0), .1);
}

TEST(ShortChains, KnowQuantities) {
  const auto model = independent_normals(0, 1);
  const Gaussian q = standard_normal();
  Evaluator evaluator(model, 1);
  ShortChains chains = chains_of(evaluator, q);
  ASSERT_TRUE(chains.settle());
  const Quantities squares{std::vector<std::string>(kChainCoordinates, "square"),
                           [](ConstMatrixRef theta) { return Matrix(theta.cwiseAbs2()); }};
  const ChainMoments found = chains.run(80, &squares).quantities;
  // Mean 1 and sd sqrt(2); with 50 of them the mean of all is known to a seventh of one's error.
  EXPECT_NEAR(found.mean.mean(), 1,
              4 * found.mean_se.mean() / std::sqrt(static_cast<double>(kChainCoordinates)));
  EXPECT_NEAR(found.sd.mean(), std::sqrt(2.), .05);
}

TEST(ShortChains, AreTheSameForAnyNumberOfThreads) {
  const auto model = independent_normals(.5, 1.5);
  const Gaussian q = standard_normal();
  std::vector<Vector> means;
  for (const int threads : {1, 3}) {
    Evaluator evaluator(model, threads);
    ShortChains chains = chains_of(evaluator, q);
    ASSERT_TRUE(chains.settle());
    means.push_back(chains.run(5, nullptr).coordinates.mean);
  }
  EXPECT_EQ(means[0], means[1]);
}

TEST(ShortChains, JumpWhereTrajectoriesAreSlow) {
  const auto model = independent_normals(0, 1);
  const Gaussian q = standard_normal();
  Vector narrow = Vector::Ones(kChainCoordinates);
  narrow(0) = .02;  // in this metric a trajectory hardly moves the first coordinate
  const Gaussian metric =
      Gaussian::low_rank(Vector::Zero(kChainCoordinates), Matrix(kChainCoordinates, 0), narrow);
  const Gaussian far = Gaussian::low_rank(Vector::Constant(kChainCoordinates, 3),
                                          Matrix(kChainCoordinates, 0), Vector::Ones(kChainCoordinates));
  for (const Gaussian* approximation : {&q, &far}) {
    Evaluator evaluator(model, 1);
    ShortChains chains(evaluator, metric, *approximation, q.draws(kChainCount, 3), 4);
    ASSERT_TRUE(chains.settle());
    const ChainMoments found = chains.run(20, nullptr).coordinates;
    // A correlation of 64 pairs is .125 by chance.
    if (approximation == &q) {
      EXPECT_LT(found.memory(0), .5);
      EXPECT_LT(std::abs(found.mean(0) / found.mean_se(0)), 4);
    } else {
      EXPECT_GT(found.memory(0), .9);
    }
    EXPECT_LT(found.memory.tail(kChainCoordinates - 1).cwiseAbs().maxCoeff(), .5);
  }
}

TEST(ShortChains, DoNotBeginWhereThereIsNoDensity) {
  const auto model = make_model(kChainCoordinates, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return theta(0) > 0 ? -.5 * theta.squaredNorm() : -std::numeric_limits<double>::infinity();
  });
  const Gaussian q = standard_normal();
  Evaluator evaluator(model, 1);
  ShortChains chains = chains_of(evaluator, q);
  EXPECT_EQ(chains.count(), (q.draws(kChainCount, 3).row(0).array() > 0).count());
  chains.settle();
  // Nor do they go there.
  const Quantities least{{"first"}, [](ConstMatrixRef theta) {
                           EXPECT_GT(theta.row(0).minCoeff(), 0);
                           return Matrix(theta.topRows(1));
                         }};
  chains.run(10, &least);
}

TEST(ShortChains, SayWhereTheyCannotMove) {
  const auto model = independent_normals(0, 1e-4);
  const Gaussian q = standard_normal();
  Evaluator evaluator(model, 1);
  // From the mode: elsewhere the energy is so large that anything is accepted.
  ShortChains chains(evaluator, q, q, Matrix::Zero(kChainCoordinates, kChainCount), 4);
  EXPECT_FALSE(chains.settle());
}

}  // namespace
}  // namespace magva
