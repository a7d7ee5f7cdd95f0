// Regressions on a GPU against the same on the processor. Needs a GPU: `make test-gpu`.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "magva/device.hpp"
#include "magva/error.hpp"
#include "magva/family_regression.hpp"
#include "magva/fit.hpp"

namespace magva {
namespace {

enum class Storage { float64, float32, whole_numbers, whole_numbers_float32, sparse };

struct Shape {
  Index rows, cols;
};

RowMatrix random_design(Shape shape, bool whole) {
  std::mt19937_64 generator(static_cast<std::uint64_t>(shape.rows * 31 + shape.cols));
  std::normal_distribution<double> normal;
  RowMatrix x(shape.rows, shape.cols);
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) {
      const double z = normal(generator);
      x(i, j) = j == 0 ? 1 : whole ? std::clamp(std::round(3 * z), -5., 5.) : z;
    }
  return x;
}

Design sparse_design(const RowMatrix& x) {
  SparseMatrix out;
  out.cols = x.cols();
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j)
      if (j == 0 || std::abs(x(i, j)) > 1) {
        out.columns.push_back(static_cast<std::int32_t>(j));
        out.values.push_back(x(i, j));
      }
    out.starts.push_back(static_cast<std::int64_t>(out.values.size()));
  }
  return Design::own(std::move(out));
}

Design design_of(Storage storage, Shape shape) {
  const bool whole = storage == Storage::whole_numbers || storage == Storage::whole_numbers_float32;
  RowMatrix x = random_design(shape, whole);
  if (storage == Storage::sparse) return sparse_design(x);
  if (storage == Storage::float32 || storage == Storage::whole_numbers_float32)
    return Design::own(SingleRowMatrix(x.cast<float>()));
  return Design::own(std::move(x));
}

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

Matrix random_theta(const Model& model, Index draws) {
  std::mt19937_64 generator(11);
  std::normal_distribution<double> normal;
  Matrix theta(model.dimension(), draws);
  const double scale = .5 / std::sqrt(static_cast<double>(model.dimension()));
  for (Index s = 0; s < draws; ++s)
    for (double& value : theta.col(s)) value = scale * normal(generator);
  return theta;
}

struct Evaluated {
  Vector log_density;
  Matrix gradient;
};

Evaluated evaluate(const Model& model, const Matrix& theta) {
  Workers workers(2);
  const auto scratch = model.make_scratch(theta.cols());
  Evaluation evaluation{*scratch, workers};
  Evaluated out{Vector(theta.cols()), Matrix(theta.rows(), theta.cols())};
  model.evaluate(theta, out.log_density, out.gradient, evaluation);
  return out;
}

void expect_close(const Evaluated& a, const Evaluated& b, double value, double gradient) {
  for (Index s = 0; s < a.log_density.size(); ++s) {
    EXPECT_NEAR(a.log_density(s), b.log_density(s), value * std::abs(b.log_density(s)));
    EXPECT_LT((a.gradient.col(s) - b.gradient.col(s)).cwiseAbs().maxCoeff(),
              gradient * b.gradient.col(s).cwiseAbs().maxCoeff());
  }
}

constexpr Storage kDoubles[] = {Storage::float64, Storage::whole_numbers, Storage::sparse};
constexpr Storage kSingles[] = {Storage::float32, Storage::whole_numbers_float32};
constexpr Kind kKinds[] = {Kind::logistic,    Kind::poisson,   Kind::linear,
                           Kind::known_noise, Kind::horseshoe, Kind::families_gaussian};

TEST(Device, EvaluatesAsTheProcessorDoes) {
  for (const Storage storage : kDoubles)
    for (const Kind kind : kKinds) {
      const Regression cpu = regression_of(kind, storage, {1003, 37}, kind != Kind::logistic);
      const auto gpu = on_device(cpu).model;
      for (const Index draws : {1, 3, 8, 40}) {
        SCOPED_TRACE(testing::Message()
                     << "storage " << int(storage) << " kind " << int(kind) << " draws " << draws);
        const Matrix theta = random_theta(cpu, draws);
        expect_close(evaluate(*gpu, theta), evaluate(cpu, theta), 1e-12, 1e-12);
      }
    }
}

TEST(Device, EvaluatesInSinglePrecision) {
  for (const Storage storage : kSingles)
    for (const Kind kind : kKinds) {
      const Regression cpu = regression_of(kind, storage, {5003, 101}, false);
      const auto gpu = on_device(cpu).model;
      for (const Index draws : {1, 3, 8, 40}) {
        SCOPED_TRACE(testing::Message()
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
        SCOPED_TRACE(testing::Message()
                     << "storage " << int(storage) << " columns " << cols << " draws " << draws);
        const Matrix theta = random_theta(cpu, draws);
        const double tolerance = storage == Storage::float32 ? 1e-5 : 1e-12;
        expect_close(evaluate(*gpu, theta), evaluate(cpu, theta), tolerance, tolerance);
      }
    }
}

TEST(Device, RepeatsItsBits) {
  for (const Storage storage : {Storage::float64, Storage::float32, Storage::sparse}) {
    const Regression cpu = regression_of(Kind::logistic, storage, {20'000, 50}, true);
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
    const Regression cpu = regression_of(Kind::logistic, storage, {10'000, 50}, true);
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

struct Expected {
  double value;
  Vector gradient;
  CurvatureProducts products;
  double dense_value;
  Vector dense_gradient;
  Matrix curvature;
};

Expected expectations(const Model& model, const GaussianView& q) {
  Workers workers(2);
  const ExpectedLogDensity& expected = *model.expectations();
  const auto scratch = expected.make_scratch(q.factors.cols());
  Evaluation evaluation{*scratch, workers};
  Expected out{0, Vector(model.dimension()), {}, 0, Vector(model.dimension()), {}};
  if (q.residual_sd.size() > 0) out.value = expected.expect(q, out.gradient, out.products, evaluation);
  out.dense_value = expected.expect(q, out.dense_gradient, out.curvature, evaluation);
  return out;
}

void expect_close(const Expected& a, const Expected& b) {
  constexpr double kTolerance = 1e-9;
  const auto close = [](const auto& x, const auto& y) {
    ASSERT_EQ(x.size(), y.size());
    if (y.size() == 0) return;
    EXPECT_LT((x - y).cwiseAbs().maxCoeff(), kTolerance * (1 + y.cwiseAbs().maxCoeff()));
  };
  EXPECT_NEAR(a.value, b.value, kTolerance * std::abs(b.value));
  EXPECT_NEAR(a.dense_value, b.dense_value, kTolerance * std::abs(b.dense_value));
  close(a.dense_gradient, b.dense_gradient);
  close(a.curvature, b.curvature);
  if (b.products.diagonal.size() == 0) return;
  close(a.gradient, b.gradient);
  close(a.products.times_factors, b.products.times_factors);
  close(a.products.diagonal, b.products.diagonal);
}

TEST(Device, ExpectsAsTheProcessorDoes) {
  for (const Storage storage : {Storage::float64, Storage::float32, Storage::whole_numbers, Storage::sparse})
    for (const Kind kind : {Kind::logistic, Kind::poisson, Kind::linear, Kind::known_noise}) {
      SCOPED_TRACE(testing::Message() << "storage " << int(storage) << " kind " << int(kind));
      const Regression cpu = regression_of(kind, storage, {3001, 23}, true);
      const auto gpu = on_device(cpu).model;
      const Index m = cpu.dimension();
      const Vector mean = random_theta(cpu, 1).col(0);
      for (const double width : {.01, .1, .5, 3.}) {
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
