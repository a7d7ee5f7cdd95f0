// Where a refinement starts, and what it does where it finds no way.
#include "refine/start.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "magva/model.hpp"

namespace magva {
namespace {

/// One parameter that the data determine, and one that hardly matters until it is large: its curvature at 0
/// is 1e-8, and beyond 30 the log density falls off as exp() does.
auto with_a_loose_parameter() {
  return make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    const double steep = std::exp(theta(1) - 20);
    gradient(0) = -theta(0);
    gradient(1) = -1e-8 * theta(1) - steep;
    return -.5 * theta(0) * theta(0) - .5e-8 * theta(1) * theta(1) - steep;
  });
}

// The curvature alone says an sd of 10,000. To shrink the whole Gaussian until draws of it are finite would
// take the other parameter's sd away, too.
TEST(Start, SdsOfParametersThatHardlyMatterAreBounded) {
  const auto model = with_a_loose_parameter();
  Evaluator evaluator(model, 1);
  Candidate candidate{{Vector::Zero(2), Vector::Zero(2), 0}, Matrix{{1, 0}, {0, 1e-8}}, true, 0};
  const CovarianceShape shape{{2, {}}, std::nullopt, nullptr};
  EXPECT_GT(quadratic_start(evaluator, candidate, shape, 1).covariance->gaussian(Vector::Zero(2)).sd()(1),
            5000);
  const GaussianStart start = make_start(evaluator, candidate, shape, 1);
  const Vector sd = start.covariance->gaussian(start.mean).sd();
  EXPECT_LE(sd(1), 10);
  EXPECT_GE(sd(1), 1);
  // The bound adds 1 / 10^2 at most to its precision of 1.
  EXPECT_NEAR(sd(0), 1, .01);
}

TEST(Start, WhatTheDataDetermineIsLeftAsItIs) {
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  });
  Evaluator evaluator(model, 1);
  Candidate candidate{{Vector::Zero(2), Vector::Zero(2), 0}, Matrix::Identity(2, 2), true, 0};
  const GaussianStart start = make_start(evaluator, candidate, {{2, {}}, std::nullopt, nullptr}, 1);
  EXPECT_LT((start.covariance->gaussian(start.mean).sd() - Vector::Ones(2)).norm(), 1e-12);
}

// A curvature of 1 where all sds are .1: the known sds are the better start, on the pattern's diagonal.
TEST(Start, KnownSdsOfASparsePrecisionAreOnItsDiagonal) {
  const auto model = make_model(3, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -100 * theta;
    return -50 * theta.squaredNorm();
  });
  Evaluator evaluator(model, 1);
  const auto pattern =
      std::make_shared<const HessianPattern>(3, PatternEntries{{0, 1, 2, 2}, {0, 1, 2, 0}, {}});
  Candidate candidate{{Vector::Zero(3), Vector::Zero(3), 0}, Matrix::Identity(3, 3), false, 0};
  candidate.sd = Vector::Constant(3, .1);
  const GaussianStart start = make_start(evaluator, candidate, {{3, {}}, std::nullopt, pattern}, 1);
  EXPECT_EQ(start.covariance->pattern(), pattern.get());
  EXPECT_LT((start.covariance->conditional_sd() - *candidate.sd).norm(), 1e-12);
}

constexpr Index kStartSize = 50;

/// Standard normal but for the first coordinate, which wants to be small and has nothing below 0. With so
/// many coordinates a step of the mean may take that one out of the support.
auto cut_off() {
  return make_model(kStartSize, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    gradient(0) = -100;
    const double others = -.5 * theta.tail(kStartSize - 1).squaredNorm();
    return theta(0) > 0 ? others - 100 * theta(0) : -std::numeric_limits<double>::infinity();
  });
}

GaussianStart start_at(double first) {
  Vector mean = Vector::Zero(kStartSize);
  mean(0) = first;
  Matrix precision = Matrix::Identity(kStartSize, kStartSize);
  precision(0, 0) = 11;
  return {mean, make_full_rank(precision), nullptr};
}

TEST(Refinement, AMeanThatLeavesTheSupportComesBack) {
  const auto model = cut_off();
  Evaluator evaluator(model, 1);
  Refinement refinement(evaluator, start_at(1), 1, .1);
  // How many draws, of twice as many as pairs, a step finds outside the support.
  const auto step = [&] {
    const std::int64_t before = evaluator.rejected();
    refinement.step();
    return evaluator.rejected() - before;
  };
  bool left = false;
  for (int k = 0; k < 20 && !left; ++k) left = step() > refinement.pairs();
  ASSERT_TRUE(left);  // else this test shows nothing
  EXPECT_EQ(refinement.status(), RefinementStatus::kRunning) << refinement.stop_detail();
  EXPECT_GT(refinement.posterior().mean()(0), 0);
  EXPECT_LT(step(), refinement.pairs());
}

TEST(Refinement, AStartOutsideTheSupportDiverges) {
  const auto model = cut_off();
  Evaluator evaluator(model, 1);
  Refinement refinement(evaluator, start_at(-5), 1, .1);
  refinement.step();
  EXPECT_EQ(refinement.status(), RefinementStatus::kDiverged);
  EXPECT_NE(refinement.stop_detail().find("neither at the mean"), std::string::npos);
}

}  // namespace
}  // namespace magva
