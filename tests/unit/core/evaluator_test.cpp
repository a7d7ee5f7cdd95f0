#include "core/evaluator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace magva {
namespace {

const std::vector<Observer> kNoObservers;  // a Control keeps a reference

/// A normal log density whose every second evaluation is off by `jitter`.
auto jittery(double jitter) {
  return make_model(
      3, [jitter, calls = std::make_shared<std::atomic<int>>(0)](ConstVectorRef theta, VectorRef gradient) {
        const double factor = ++*calls % 2 == 0 ? 1 + jitter : 1;
        gradient = -factor * theta;
        return -.5 * factor * theta.squaredNorm();
      });
}

TEST(Evaluator, TakesNoiseForNoiseAndRoundingForRounding) {
  const Vector at = Vector::Constant(3, 2.);
  for (const double jitter : {0., 1e-14, 1e-11}) {
    const auto model = jittery(jitter);
    Evaluator evaluator(model, 1);
    EXPECT_FALSE(is_stochastic(evaluator, at)) << jitter;
  }
  for (const double jitter : {1e-6, .1}) {
    const auto model = jittery(jitter);
    Evaluator evaluator(model, 1);
    EXPECT_TRUE(is_stochastic(evaluator, at)) << jitter;
  }
}

/// Its first gradient takes long, as where something is compiled; it knows its values on lines.
class SlowToStart final : public Model {
 public:
  Index dimension() const override { return 1; }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation&) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    log_density.setZero();
    gradient = -theta;
  }
  bool evaluate_lines(ConstVectorRef, ConstMatrixRef directions, ConstVectorRef steps, MatrixRef log_density,
                      Evaluation&) const override {
    log_density.setZero();
    batches.push_back(steps.size() * directions.cols());
    return true;
  }

  mutable std::vector<Index> batches;
};

TEST(Evaluator, BatchesOfValuesGrowWhereTheyTakeNoTime) {
  const SlowToStart model;
  Control control({}, kNoObservers);
  Evaluator evaluator(model, 1, &control);
  const Matrix theta = Matrix::Zero(1, 256);
  for (int k = 0; k < 12; ++k) (void)evaluator.evaluate_values(theta);
  EXPECT_LE(model.batches.front(), 2);
  EXPECT_EQ(model.batches.back(), 256);
}

/// Fast, but for single draws and batches, by their number, that a busy machine keeps waiting.
class Waits final : public Model {
 public:
  Waits(std::vector<std::size_t> single_draws, std::vector<std::size_t> batches_of_draws)
      : waiting_{std::move(single_draws), std::move(batches_of_draws)} {}
  Index dimension() const override { return 1; }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation&) const override {
    const std::size_t kind = theta.cols() == 1 ? 0 : 1;
    const std::vector<std::size_t>& waiting = waiting_[kind];
    if (std::find(waiting.begin(), waiting.end(), sizes_[kind].size()) != waiting.end())
      std::this_thread::sleep_for(std::chrono::milliseconds(250));
    log_density.setZero();
    gradient = -theta;
    sizes_[kind].push_back(theta.cols());
  }
  const std::vector<Index>& batches() const { return sizes_[1]; }

 private:
  std::array<std::vector<std::size_t>, 2> waiting_;
  mutable std::array<std::vector<Index>, 2> sizes_;
};

std::vector<Index> batches_of_four_evaluations(const Waits& model) {
  Control control({}, kNoObservers);
  Evaluator evaluator(model, 1, &control);
  const Matrix theta = Matrix::Zero(1, 16);
  Vector log_density(16);
  Matrix gradient(1, 16);
  for (int k = 0; k < 4; ++k) evaluator.evaluate(theta, log_density, gradient);
  return model.batches();
}

TEST(Evaluator, BatchesDoNotDependOnAGradientThatWaited) {
  const std::vector<Index> whole(4, 16);
  EXPECT_EQ(batches_of_four_evaluations(Waits({0}, {})), whole);
  EXPECT_EQ(batches_of_four_evaluations(Waits({}, {1})), whole);
}

TEST(Evaluator, BatchesBecomeSmallerWhereTheyAreSlow) {
  EXPECT_EQ(batches_of_four_evaluations(Waits({}, {0, 1})), (std::vector<Index>{16, 16, 8, 8, 16}));
}

}  // namespace
}  // namespace magva
