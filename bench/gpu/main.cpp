// Steps of Algorithm 1, whole fits and streamed designs on a GPU, beside the processor's cores. usage:
// magva_gpu_bench [steps|all [ROWS COLS]]
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

#include "algorithm1/fitter.hpp"
#include "magva/device.hpp"
#include "magva/family_regression.hpp"
#include "magva/fit.hpp"
#include "tasks/timing.hpp"

namespace magva::bench {
namespace {

constexpr double kBudget = 1;  // seconds for a timing

std::uint64_t hash(std::uint64_t x) {
  x = (x ^ x >> 30U) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27U) * 0x94d049bb133111eb;
  return x ^ x >> 31U;
}

double uniform(std::uint64_t seed) { return static_cast<double>(hash(seed) >> 11U) * 0x1p-53; }

enum class Values { numbers, zeros_and_ones };

/// Logistic regression on numbers of variance 1, or on zeros and ones; about half of the responses are 1.
template <class Scalar>
RegressionData make_data(Index rows, Index cols, Values values, Workers& workers) {
  Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> x(rows, cols);
  Vector y(rows);
  constexpr Index kTasks = 256;
  workers.run(kTasks, [&](Index task) {
    const Range range = piece(rows, kTasks, task);
    for (Index i = range.begin; i < range.end; ++i) {
      double eta = 0;
      for (Index j = 0; j < cols; ++j) {
        const double u = uniform(static_cast<std::uint64_t>(i * cols + j));
        const double v = j == 0                      ? 1
                         : values == Values::numbers ? std::sqrt(12.) * (u - .5)
                                                     : (u < .3 ? 1 : 0);
        x(i, j) = static_cast<Scalar>(v);
        eta += v * (j % 3 == 0 ? .02 : -.01);
      }
      y(i) = uniform(~static_cast<std::uint64_t>(i)) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
    }
  });
  return {Design::own(std::move(x)), std::move(y), Vector(), {}};
}

double step_seconds(const Model& model, Index draws, int threads) {
  FitterOptions options;
  options.rank = 10;
  options.draws = draws;
  options.threads = threads;
  options.max_iterations = 1'000'000;
  options.factor_rule = rule_defaults(RuleKind::kAdadeltaStable);
  Fitter fitter(model, options);
  return fastest(kBudget, [&] { fitter.step(); });
}

double pass_seconds(const Model& model, Index draws, int threads = 1) {
  Workers workers(threads);
  const auto scratch = model.make_scratch(draws);
  Evaluation evaluation{*scratch, workers};
  const Matrix theta = Matrix::Constant(model.dimension(), draws, 1e-3);
  Vector log_density(draws);
  Matrix gradient(model.dimension(), draws);
  return fastest(kBudget / 2, [&] { model.evaluate(theta, log_density, gradient, evaluation); });
}

void print_steps(const std::string& name, const Regression& regression, std::initializer_list<Index> draws) {
  const DeviceModel gpu = on_device(regression);
  for (const Index count : draws)
    fmt::print("{}, {} draw(s): step {:.1f} us ({:.1f} us with 4 threads), pass {:.1f} us [{}]\n", name,
               count, 1e6 * step_seconds(*gpu.model, count, 1), 1e6 * step_seconds(*gpu.model, count, 4),
               1e6 * pass_seconds(*gpu.model, count), gpu.description);
  std::fflush(stdout);
}

/// With the family on the GPU and on the processor.
void print_wide(const std::string& name, const Regression& regression) {
  for (const Index above : {Index{0}, std::numeric_limits<Index>::max()}) {
    const DeviceModel gpu = on_device(regression, {.family_above = above});
    for (const Index draws : {1, 8})
      fmt::print(
          "{}, family on the {}, {} draw(s): step {:.1f} us ({:.1f} us with 16 threads), pass {:.1f} us "
          "[{}]\n",
          name, above == 0 ? "GPU" : "processor", draws, 1e6 * step_seconds(*gpu.model, draws, 1),
          1e6 * step_seconds(*gpu.model, draws, 16), 1e6 * pass_seconds(*gpu.model, draws), gpu.description);
    std::fflush(stdout);
  }
}

/// Rows of an intercept and 30 entries each.
Regression sparse_regression(Index rows, Index cols) {
  SparseMatrix x;
  x.cols = cols;
  Vector y(rows);
  for (Index i = 0; i < rows; ++i) {
    x.columns.push_back(0);
    x.values.push_back(1);
    for (Index k = 0; k < 30; ++k) {  // one in each of 30 stretches, so that they are in order
      const Range range = piece(cols - 1, 30, k);
      const double u = uniform(static_cast<std::uint64_t>(i * 31 + k));
      x.columns.push_back(static_cast<std::int32_t>(
          1 + range.begin + static_cast<Index>(u * static_cast<double>(range.size()))));
      x.values.push_back(uniform(static_cast<std::uint64_t>(i * 37 + k)) - .5);
    }
    x.starts.push_back(static_cast<std::int64_t>(x.values.size()));
    y(i) = uniform(~static_cast<std::uint64_t>(i)) < .5 ? 1 : 0;
  }
  return logistic_regression({Design::own(std::move(x)), std::move(y), Vector(), {}});
}

/// Zeros and ones on the processor, in int8 and as the doubles that they were given as.
void print_bytes(Index rows, Index cols, int cores) {
  RowMatrix x(rows, cols);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < cols; ++j)
      x(i, j) = j == 0 || uniform(static_cast<std::uint64_t>(i * cols + j)) < .3 ? 1 : 0;
  const Vector y = Vector::NullaryExpr(rows, [](Index i) { return static_cast<double>(i % 2); });
  const Regression doubles =
      logistic_regression({Design::view(DenseRows<double>{x.data(), rows, cols, cols}), y, Vector(), {}});
  const Regression bytes = logistic_regression({doubles.design().compact(), y, Vector(), {}});
  for (const int threads : {1, cores})
    for (const Index draws : {1, 8}) {
      const double in_doubles = pass_seconds(doubles, draws, threads);
      const double in_bytes = pass_seconds(bytes, draws, threads);
      fmt::print(
          "{} x {} zeros and ones on {} core(s), {} draw(s): {:.2f} ms as doubles ({:.0f} MB), {:.2f} ms in "
          "int8 "
          "({:.0f} MB): {:.2f} times\n",
          rows, cols, threads, draws, 1e3 * in_doubles, 1e-6 * static_cast<double>(doubles.design().bytes()),
          1e3 * in_bytes, 1e-6 * static_cast<double>(bytes.design().bytes()), in_doubles / in_bytes);
    }
  std::fflush(stdout);
}

FitResult timed_fit(const Model& model, std::optional<Index> rank, int threads) {
  FitOptions options;
  options.rank = rank;
  options.threads = threads;
  options.diagnostic_draws = 100;
  return fit(model, options);
}

void compare_fits(const std::string& name, const Regression& regression, std::optional<Index> rank,
                  int threads) {
  const DeviceModel gpu = on_device(regression);
  const FitResult on_gpu = timed_fit(*gpu.model, rank, 0);
  fmt::print("{}: GPU {:.2f} s, ELBO {:.6f}, rank {}, {}, {} gradients\n", name, on_gpu.seconds, on_gpu.elbo,
             on_gpu.posterior.rank(), to_string(on_gpu.stopped), on_gpu.gradient_evaluations);
  std::fflush(stdout);
  const FitResult on_cpu = timed_fit(regression, rank, threads);
  const double apart =
      ((on_gpu.posterior.mean() - on_cpu.posterior.mean()).array() / on_cpu.posterior.sd().array())
          .abs()
          .maxCoeff();
  fmt::print("{}: {} cores {:.2f} s, ELBO {:.6f}: {:.1f} times; means differ by {:.2g} sd\n", name, threads,
             on_cpu.seconds, on_cpu.elbo, on_cpu.seconds / on_gpu.seconds, apart);
  std::fflush(stdout);
}

/// Copies of pinned memory to the GPU, in bytes a second.
double bus_speed() {
  constexpr std::size_t kBytes = std::size_t{1} << 28U;
  void* host = nullptr;
  void* device = nullptr;
  if (cudaMallocHost(&host, kBytes) != cudaSuccess || cudaMalloc(&device, kBytes) != cudaSuccess) return NAN;
  std::memset(host, 1, kBytes);
  const double seconds = fastest(1, [&] { cudaMemcpy(device, host, kBytes, cudaMemcpyHostToDevice); });
  cudaFree(device);
  cudaFreeHost(host);
  return static_cast<double>(kBytes) / seconds;
}

void print_streaming(const Regression& regression, double bytes) {
  const DeviceModel gpu = on_device(regression, {.memory_limit = std::int64_t{1} << 30});
  const double seconds = pass_seconds(*gpu.model, 1);
  const double bus = bus_speed();
  fmt::print("streamed: pass {:.1f} ms, {:.1f} GB/s, bus {:.1f} GB/s: share {:.2f} [{}]\n", 1e3 * seconds,
             bytes / seconds * 1e-9, bus * 1e-9, bytes / seconds / bus, gpu.description);
  std::fflush(stdout);
}

void run(bool with_fits, Index rows, Index cols) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  Workers workers(cores);
  print_bytes(rows / 5, cols, cores);
  const auto shape = [&](Index n, const char* what) { return fmt::format("{} x {} {}", n, cols, what); };
  {
    const Regression small = logistic_regression(make_data<float>(rows / 10, cols, Values::numbers, workers));
    print_steps(shape(rows / 10, "float32"), small, {1, 8});
    print_wide(shape(rows / 10, "float32"), small);
  }
  {
    const Regression ones =
        logistic_regression(make_data<float>(rows, cols, Values::zeros_and_ones, workers));
    print_steps(shape(rows, "int8"), ones, {1, 8});
  }
  {
    const Regression doubles =
        logistic_regression(make_data<double>(rows / 10, cols, Values::numbers, workers));
    print_steps(shape(rows / 10, "float64"), doubles, {1, 8});
  }
  {
    const Regression counts =
        family_regression(make_data<float>(rows, cols, Values::numbers, workers),
                          Distribution::negative_binomial, Link::log, make_prior(NormalPriorOptions{}, cols));
    print_steps(shape(rows, "float32, negative binomial"), counts, {1, 8});
  }
  {
    const Index wide = 120 * cols;
    print_wide(fmt::format("{} x {} float32", rows / 200, wide),
               logistic_regression(make_data<float>(rows / 200, wide, Values::numbers, workers)));
    print_wide(fmt::format("{} x {} sparse", rows / 5, 2 * wide), sparse_regression(rows / 5, 2 * wide));
  }
  const Regression regression = logistic_regression(make_data<float>(rows, cols, Values::numbers, workers));
  print_steps(shape(rows, "float32"), regression, {1, 8, 64});
  if (!with_fits) return;
  print_streaming(regression, 4. * static_cast<double>(rows) * static_cast<double>(cols));
  compare_fits(shape(rows, "float32, rank 10"), regression, 10, cores);
}

}  // namespace
}  // namespace magva::bench

int main(int argc, char** argv) {
  const auto number = [&](int k, long standard) { return argc > k ? std::atol(argv[k]) : standard; };
  magva::bench::run(argc < 2 || std::string(argv[1]) != "steps", number(2, 1'000'000), number(3, 1000));
}
