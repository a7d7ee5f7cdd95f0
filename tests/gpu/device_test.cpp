// Regressions on a GPU against the same on the processor. Needs a GPU: `make test-gpu`.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "magva/device.hpp"
#include "magva/error.hpp"
#include "magva/family_regression.hpp"
#include "magva/fit.hpp"
#include "support.hpp"

namespace magva {
namespace {

using testing::design_of;
using testing::evaluate;
using testing::Evaluated;
using testing::expect_close;
using testing::expectations;
using testing::fewer;
using testing::random_theta;
using testing::Shape;
using testing::Storage;
using testing::thinned;

enum class Kind { logistic, poisson, linear, known_noise, horseshoe, families_gaussian };

Regression regression_of(Kind kind, Storage storage, Shape shape, bool weighted) {
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> uniform;
  RegressionData data{design_of(storage, shape), Vector(shape.rows), Vector(), {}};
  for (double& y : data.response) {
    const double u = uniform(generator);
    y = kind == Kind::logistic || kind == Kind::horseshoe ? (u < .4 ? 1. : 0.)
        : kind == Kind::poisson                           ? std::floor(4 * u)
                                                          : 3 * u - 1;
  }
  if (weighted) {
    data.weights.resize(shape.rows);
    for (double& w : data.weights) w = std::floor(3 * uniform(generator));
    data.weights(0) = 1;
    data.offset = Vector::LinSpaced(shape.rows, -.5, .5);
  }
  if (kind == Kind::horseshoe) return logistic_regression(std::move(data), HorseshoeOptions{});
  if (kind == Kind::poisson) return poisson_regression(std::move(data));
  if (kind == Kind::linear) return linear_regression(std::move(data));
  if (kind == Kind::known_noise)
    return linear_regression(std::move(data), NormalPriorOptions{}, {.noise_sd = .7});
  if (kind == Kind::families_gaussian)
    return family_regression(std::move(data), Distribution::gaussian, Link::identity,
                             make_prior(NormalPriorOptions{}, shape.cols));
  return logistic_regression(std::move(data));
}

const std::vector<Storage> kDoubles = {Storage::float64, Storage::whole_numbers, Storage::sparse};
const std::vector<Storage> kSingles = {Storage::float32, Storage::whole_numbers_float32};
const std::vector<Kind> kKinds = {Kind::logistic,    Kind::poisson,   Kind::linear,
                                  Kind::known_noise, Kind::horseshoe, Kind::families_gaussian};

TEST(Device, EvaluatesAsTheProcessorDoes) {
  for (const Storage storage : kDoubles)
    for (const Kind kind : thinned(kKinds, 2)) {
      const Regression cpu = regression_of(kind, storage, {fewer(1003), 37}, kind != Kind::logistic);
      const auto gpu = on_device(cpu).model;
      for (const Index draws : {1, 3, 8, 40}) {
        SCOPED_TRACE(::testing::Message()
                     << "storage " << int(storage) << " kind " << int(kind) << " draws " << draws);
        const Matrix theta = random_theta(cpu, draws);
        expect_close(evaluate(*gpu, theta), evaluate(cpu, theta), 1e-12, 1e-12);
      }
    }
}

TEST(Device, EvaluatesInSinglePrecision) {
  for (const Storage storage : kSingles)
    for (const Kind kind : thinned(kKinds, 2)) {
      const Regression cpu = regression_of(kind, storage, {fewer(5003), 101}, false);
      const auto gpu = on_device(cpu).model;
      for (const Index draws : {1, 3, 8, 40}) {
        SCOPED_TRACE(::testing::Message()
                     << "storage " << int(storage) << " kind " << int(kind) << " draws " << draws);
        const Matrix theta = random_theta(cpu, draws);
        expect_close(evaluate(*gpu, theta), evaluate(cpu, theta), 1e-6, 1e-5);
      }
    }
}

// Every shape of the fused kernels, and the matrix products beyond them.
TEST(Device, TakesRowsOfAnyLength) {
  for (const Index cols : {1, 3, 511, 513, 1023, 1025, 2049, 4095, 4099, 9000})
    for (const Storage storage : {Storage::float64, Storage::float32, Storage::whole_numbers}) {
      const Regression cpu = regression_of(Kind::logistic, storage, {67, cols}, false);
      const auto gpu = on_device(cpu).model;
      for (const Index draws : {1, 5}) {
        SCOPED_TRACE(::testing::Message()
                     << "storage " << int(storage) << " columns " << cols << " draws " << draws);
        const Matrix theta = random_theta(cpu, draws);
        const double tolerance = storage == Storage::float32 ? 1e-5 : 1e-12;
        expect_close(evaluate(*gpu, theta), evaluate(cpu, theta), tolerance, tolerance);
      }
    }
}

TEST(Device, RepeatsItsBits) {
  for (const Storage storage : {Storage::float64, Storage::float32, Storage::sparse}) {
    const Regression cpu = regression_of(Kind::logistic, storage, {fewer(20'000), 50}, true);
    const auto gpu = on_device(cpu).model;
    for (const Index draws : {1, 8, 40}) {
      const Matrix theta = random_theta(cpu, draws);
      const Evaluated first = evaluate(*gpu, theta);
      const Evaluated second = evaluate(*on_device(cpu).model, theta);
      EXPECT_EQ(first.log_density, second.log_density);
      EXPECT_EQ(first.gradient, second.gradient);
    }
  }
}

TEST(Device, ADesignThatDoesNotFitIsStreamed) {
  for (const Storage storage : {Storage::float64, Storage::float32}) {
    const Regression cpu = regression_of(Kind::logistic, storage, {fewer(10'000), 50}, true);
    const DeviceModel streamed = on_device(cpu, {.memory_limit = 100'000});
    EXPECT_NE(streamed.description.find("copied over in every pass"), std::string::npos)
        << streamed.description;
    for (const Index draws : {1, 40}) {
      const Matrix theta = random_theta(cpu, draws);
      const double tolerance = storage == Storage::float32 ? 1e-5 : 1e-12;
      expect_close(evaluate(*streamed.model, theta), evaluate(cpu, theta), tolerance, tolerance);
    }
  }
}

TEST(Device, ExpectsAsTheProcessorDoes) {
  for (const Storage storage :
       thinned(std::vector{Storage::float64, Storage::float32, Storage::whole_numbers, Storage::sparse}, 3))
    for (const Kind kind :
         thinned(std::vector{Kind::logistic, Kind::poisson, Kind::linear, Kind::known_noise}, 2)) {
      SCOPED_TRACE(::testing::Message() << "storage " << int(storage) << " kind " << int(kind));
      const Regression cpu = regression_of(kind, storage, {fewer(3001), 23}, true);
      const auto gpu = on_device(cpu).model;
      const Index m = cpu.dimension();
      const Vector mean = random_theta(cpu, 1).col(0);
      for (const double width : thinned(std::vector{.1, .01, .5, 3.}, 4)) {
        if (kind != Kind::logistic && width > .2) continue;
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

TEST(Device, FitsToTheSameElbo) {
  for (const Kind kind : {Kind::logistic, Kind::poisson, Kind::linear}) {
    const Regression cpu = regression_of(kind, Storage::float64, {2000, 30}, false);
    const auto gpu = on_device(cpu).model;
    for (const Index rank : {Index{0}, Index{3}, cpu.dimension()}) {
      FitOptions options;
      options.rank = rank;
      options.diagnostic_draws = 100;
      const FitResult a = fit(*gpu, options);
      const FitResult b = fit(cpu, options);
      EXPECT_EQ(a.stopped, StopReason::kConverged);
      EXPECT_NEAR(a.elbo, b.elbo, 1e-9 * std::abs(b.elbo)) << "kind " << int(kind) << " rank " << rank;
      EXPECT_LT(
          ((a.posterior.mean() - b.posterior.mean()).array() / b.posterior.sd().array()).abs().maxCoeff(),
          1e-3);
    }
  }
}

TEST(Device, FitsInSinglePrecisionWithinAHundredth) {
  const Regression cpu = regression_of(Kind::logistic, Storage::float32, {20'000, 30}, false);
  const auto gpu = on_device(cpu).model;
  const FitResult a = fit(*gpu);
  const FitResult b = fit(cpu);
  EXPECT_NEAR(a.elbo, b.elbo, .01);
  EXPECT_LT(((a.posterior.mean() - b.posterior.mean()).array() / b.posterior.sd().array()).abs().maxCoeff(),
            .01);
}

TEST(Device, SaysWhatIsMissing) {
  const Regression cpu = regression_of(Kind::logistic, Storage::float64, {100, 5}, false);
  EXPECT_THROW(on_device(cpu, {.device = 99}), UsageError);
  const Pspline spline = pspline_regression(Vector::LinSpaced(100, 0, 1), Vector::LinSpaced(100, 0, 1));
  EXPECT_THROW(on_device(spline.model), UsageError);
}

}  // namespace
}  // namespace magva
