// One evaluation of a model (log density and gradient of every draw) beside the plain form: two Eigen
// products over the whole design and array expressions between them. Run with --benchmark_repetitions and
// read the medians.
#include <benchmark/benchmark.h>

#include <random>

#include "magva/regression.hpp"
#include "plain/models.hpp"

namespace {

using namespace magva;
using bench::plain_horseshoe;
using bench::plain_logistic;

Matrix normal_matrix(Index rows, Index cols, unsigned seed, double scale) {
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  return Matrix::NullaryExpr(rows, cols, [&](Index, Index) { return scale * normal(generator); });
}

struct Problem {
  RowMatrix x;
  Vector y;
  Matrix theta;
};

Problem make_problem(Index rows, Index cols, Index dimension, Index draws) {
  std::minstd_rand generator(1);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Problem problem{RowMatrix(rows, cols), Vector(rows), normal_matrix(dimension, draws, 2, 0.1)};
  for (Index i = 0; i < problem.x.size(); ++i) problem.x.data()[i] = uniform(generator);
  problem.x.col(0).setOnes();
  for (double& y : problem.y) y = uniform(generator) > 0.0 ? 1.0 : 0.0;
  return problem;
}

struct Outputs {
  Outputs(Index rows, Index dimension, Index draws)
      : log_density(draws), gradient(dimension, draws), eta(rows, draws) {}
  Vector log_density;
  Matrix gradient;
  Matrix eta;
};

template <class Plain>
bool agree(const Regression& model, const Problem& problem, Plain plain, Outputs& ours,
           Evaluation& evaluation) {
  Outputs expected(problem.x.rows(), problem.theta.rows(), problem.theta.cols());
  plain(problem.x, problem.y, problem.theta, expected.log_density, expected.gradient, expected.eta);
  model.evaluate(problem.theta, ours.log_density, ours.gradient, evaluation);
  const double scale = expected.gradient.cwiseAbs().maxCoeff();
  return (ours.gradient - expected.gradient).cwiseAbs().maxCoeff() < 1e-10 * scale &&
         (ours.log_density - expected.log_density).cwiseAbs().maxCoeff() <
             1e-10 * expected.log_density.cwiseAbs().maxCoeff();
}

template <class Plain>
void time_model(benchmark::State& state, const Regression& model, const Problem& problem, Plain plain,
                int threads, double entry_bytes) {
  Workers workers(threads);
  const Index draws = problem.theta.cols();
  const auto scratch = model.make_scratch(draws);
  Evaluation evaluation{*scratch, workers};
  Outputs out(problem.x.rows(), problem.theta.rows(), draws);
  if (!agree(model, problem, plain, out, evaluation)) {
    state.SkipWithError("the model and the plain form disagree");
    return;
  }
  for (auto _ : state) {
    model.evaluate(problem.theta, out.log_density, out.gradient, evaluation);
    benchmark::DoNotOptimize(out.gradient.data());
  }
  state.counters["design_B/s"] =
      benchmark::Counter(entry_bytes * static_cast<double>(problem.x.size()),
                         benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

template <class Plain>
void time_plain(benchmark::State& state, const Problem& problem, Plain plain) {
  Outputs out(problem.x.rows(), problem.theta.rows(), problem.theta.cols());
  for (auto _ : state) {
    plain(problem.x, problem.y, problem.theta, out.log_density, out.gradient, out.eta);
    benchmark::DoNotOptimize(out.gradient.data());
  }
}

/// Arguments: rows, columns, draws, threads.
void Logistic(benchmark::State& state) {
  const Problem problem = make_problem(state.range(0), state.range(1), state.range(1), state.range(2));
  const Regression model = logistic_regression({Design::own(problem.x), problem.y, {}, {}});
  time_model(state, model, problem, plain_logistic, static_cast<int>(state.range(3)), sizeof(double));
}

void LogisticSingle(benchmark::State& state) {
  Problem problem = make_problem(state.range(0), state.range(1), state.range(1), state.range(2));
  const SingleRowMatrix single = problem.x.cast<float>();
  problem.x = single.cast<double>();
  const Regression model = logistic_regression({Design::own(single), problem.y, {}, {}});
  time_model(state, model, problem, plain_logistic, static_cast<int>(state.range(3)), sizeof(float));
}

void LogisticPlain(benchmark::State& state) {
  time_plain(state, make_problem(state.range(0), state.range(1), state.range(1), state.range(2)),
             plain_logistic);
}

void Horseshoe(benchmark::State& state) {
  const Problem problem = make_problem(state.range(0), state.range(1), 2 * state.range(1), state.range(2));
  const Regression model = logistic_regression({Design::own(problem.x), problem.y, {}, {}},
                                               HorseshoeOptions{HorseshoeForm::centred});
  time_model(state, model, problem, plain_horseshoe, static_cast<int>(state.range(3)), sizeof(double));
}

void HorseshoePlain(benchmark::State& state) {
  time_plain(state, make_problem(state.range(0), state.range(1), 2 * state.range(1), state.range(2)),
             plain_horseshoe);
}

BENCHMARK(Logistic)
    ->ArgNames({"rows", "cols", "draws", "threads"})
    ->Args({351, 112, 1, 1})
    ->Args({351, 112, 8, 1})
    ->Args({4601, 105, 8, 1})
    ->Args({4601, 105, 8, 2})
    ->Args({100000, 100, 1, 1})
    ->Args({100000, 100, 8, 1})
    ->Args({100000, 100, 8, 2})
    ->Args({100000, 1000, 1, 1})
    ->Args({100000, 1000, 1, 2})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(LogisticSingle)
    ->ArgNames({"rows", "cols", "draws", "threads"})
    ->Args({351, 112, 1, 1})
    ->Args({100000, 100, 1, 1})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(LogisticPlain)
    ->ArgNames({"rows", "cols", "draws"})
    ->Args({351, 112, 1})
    ->Args({351, 112, 8})
    ->Args({4601, 105, 8})
    ->Args({100000, 100, 1})
    ->Args({100000, 100, 8})
    ->Args({100000, 1000, 1})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(Horseshoe)
    ->ArgNames({"rows", "cols", "draws", "threads"})
    ->Args({38, 7130, 1, 1})
    ->Args({38, 7130, 1, 2})
    ->Args({38, 7130, 8, 1})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(HorseshoePlain)
    ->ArgNames({"rows", "cols", "draws"})
    ->Args({38, 7130, 1})
    ->Args({38, 7130, 8})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

}  // namespace
