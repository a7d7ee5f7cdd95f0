#include "core/evaluator.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

namespace magva {
namespace {

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

}  // namespace
}  // namespace magva
