// All response families, and minibatches, on a GPU against the same on the processor. Needs a GPU: `make
// test-gpu`.
#include <gtest/gtest.h>

#include "magva/device.hpp"
#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/minibatch.hpp"
#include "support.hpp"
#include "support/families.hpp"

namespace magva {
namespace {

using test::Family;
using test::kFamilies;
using testing::design_of;
using testing::evaluate;
using testing::expect_close;
using testing::expectations;
using testing::fewer;
using testing::random_theta;
using testing::Storage;
using testing::thinned;

Regression regression_of(const Family& family, Storage storage, testing::Shape shape) {
  return test::regression_of(family, test::family_data(family, design_of(storage, shape)));
}

std::string trace_of(const Family& family, Storage storage) {
  return test::name_of(family) + ", storage " + std::to_string(static_cast<int>(storage));
}

TEST(DeviceFamilies, EvaluateAsOnTheProcessor) {
  for (const Storage storage :
       thinned(std::vector{Storage::float64, Storage::whole_numbers, Storage::sparse, Storage::float32}, 3))
    for (const Family& family : thinned(kFamilies, 9)) {
      SCOPED_TRACE(trace_of(family, storage));
      const Regression cpu = regression_of(family, storage, {fewer(1003), 37});
      const auto gpu = on_device(cpu).model;
      const bool single = storage == Storage::float32;
      for (const Index draws : {1, 3, 7, 40}) {
        const Matrix theta = random_theta(cpu, draws);
        expect_close(evaluate(*gpu, theta), evaluate(cpu, theta), single ? 1e-6 : 1e-12,
                     single ? 1e-5 : 2e-12);
      }
    }
}

// Rows and columns beyond a part, a block and a warp of the kernels for a few draws, in memory and streamed.
TEST(DeviceFamilies, TakeRowsOfAnyLength) {
  for (const Storage storage :
       {Storage::float64, Storage::float32, Storage::whole_numbers, Storage::whole_numbers_float32})
    for (const testing::Shape shape : {testing::Shape{5003, 1}, {4096, 129}, {2049, 515}, {9, 9000}}) {
      SCOPED_TRACE(::testing::Message()
                   << "storage " << int(storage) << ", " << shape.rows << " x " << shape.cols);
      const Regression cpu = regression_of({Distribution::negative_binomial, Link::log}, storage, shape);
      const bool single = storage == Storage::float32 || storage == Storage::whole_numbers_float32;
      for (const std::int64_t memory : {std::int64_t{0}, std::int64_t{200'000}}) {
        const auto gpu = on_device(cpu, {.memory_limit = memory}).model;
        for (const Index draws : {1, 4, 8}) {
          const Matrix theta = random_theta(cpu, draws);
          expect_close(evaluate(*gpu, theta), evaluate(cpu, theta), single ? 1e-5 : 1e-12,
                       single ? 1e-5 : 2e-12);
        }
      }
    }
}

TEST(DeviceFamilies, ExpectAsOnTheProcessor) {
  for (const Storage storage : thinned(std::vector{Storage::float64, Storage::float32, Storage::sparse}, 3))
    for (const Family& family : thinned(kFamilies, 9)) {
      SCOPED_TRACE(trace_of(family, storage));
      const Regression cpu = regression_of(family, storage, {fewer(2001), 23});
      const auto gpu = on_device(cpu).model;
      ASSERT_EQ(gpu->expectations() == nullptr, cpu.expectations() == nullptr);
      if (cpu.expectations() == nullptr) continue;
      const Index m = cpu.dimension();
      const Vector mean = random_theta(cpu, 1).col(0);
      for (const double width : thinned(std::vector{.1, .01, .4}, 3)) {
        const Matrix factors = width * 3 * random_theta(cpu, 4);
        const Vector residual = Vector::Constant(m, width * .3);
        expect_close(expectations(*gpu, {mean, factors, residual}),
                     expectations(cpu, {mean, factors, residual}));
        const Matrix root = width * random_theta(cpu, m);
        expect_close(expectations(*gpu, {mean, root, Vector()}), expectations(cpu, {mean, root, Vector()}));
      }
      expect_close(expectations(*gpu, {mean, Matrix(m, 0), Vector()}),
                   expectations(cpu, {mean, Matrix(m, 0), Vector()}));
    }
}

TEST(DeviceFamilies, FitToTheSameElbo) {
  for (const Family& family : kFamilies)
    for (const Index rank : {Index{3}, Index{100}}) {  // m or more: full rank
      SCOPED_TRACE(trace_of(family, Storage::float64) + ", rank " + std::to_string(rank));
      const Regression cpu = regression_of(family, Storage::float64, {2000, 8});
      FitOptions options;
      options.rank = rank;
      options.diagnostic_draws = 200;
      const FitResult a = fit(*on_device(cpu).model, options);
      const FitResult b = fit(cpu, options);
      EXPECT_EQ(a.stopped, b.stopped);
      // Without expectations a fit ends where its noise says, which rounding can move by a step.
      const double tolerance = cpu.expectations() != nullptr ? 1e-9 * std::abs(b.elbo) : .05;
      EXPECT_NEAR(a.elbo, b.elbo, tolerance);
    }
}

TEST(DeviceMinibatches, AreTheProcessors) {
  for (const Storage storage : {Storage::float64, Storage::whole_numbers, Storage::float32})
    for (const Family& family : {kFamilies[0], kFamilies[2], kFamilies[9], kFamilies[11]}) {
      SCOPED_TRACE(trace_of(family, storage));
      const auto cpu = std::make_shared<const Regression>(regression_of(family, storage, {3001, 21}));
      const bool single = storage == Storage::float32;
      for (const std::int64_t memory : {std::int64_t{0}, std::int64_t{60'000}}) {
        const Minibatch on_gpu(on_device(*cpu, {.memory_limit = memory}).model, {200, 3, 5});
        const Minibatch on_cpu(cpu, {200, 3, 5});
        ASSERT_EQ(on_gpu.rows_at(7), on_cpu.rows_at(7));
        for (const Index draws : {1, 8, 40}) {
          const Matrix theta = random_theta(*cpu, draws);
          for (const std::uint64_t iteration : {0U, 7U})
            expect_close(evaluate(on_gpu, theta, iteration), evaluate(on_cpu, theta, iteration),
                         single ? 1e-6 : 1e-12, single ? 1e-5 : 2e-12);
          // And all rows again after some of them.
          expect_close(evaluate(on_gpu.full(), theta), evaluate(on_cpu.full(), theta), single ? 1e-6 : 1e-12,
                       single ? 1e-5 : 2e-12);
        }
      }
    }
}

TEST(DeviceMinibatches, FitAsOnTheProcessor) {
  const auto cpu = std::make_shared<const Regression>(
      regression_of({Distribution::poisson, Link::log}, Storage::float64, {4000, 6}));
  FitOptions options;
  options.diagnostic_draws = 200;
  const FitResult a = fit(Minibatch(on_device(*cpu).model, {500, 1, 1}), options);
  const FitResult b = fit(Minibatch(cpu, {500, 1, 1}), options);
  EXPECT_NEAR(a.elbo, b.elbo, .05);
}

TEST(DeviceMinibatches, SparseDesignsHaveNone) {
  const Regression cpu = regression_of(kFamilies[2], Storage::sparse, {500, 12});
  const Minibatch batches(on_device(cpu).model, {50, 1, 1});
  EXPECT_THROW(evaluate(batches, random_theta(cpu, 1)), Error);
}

}  // namespace
}  // namespace magva
