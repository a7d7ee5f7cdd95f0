// One evaluation of a model (log density and gradient of every draw) beside the plain form: two Eigen
// products over the whole design and array expressions between them. Run with --benchmark_repetitions and
// read the medians.
#include <benchmark/benchmark.h>

#include <cmath>
#include <random>

#include "magva/model/regression.hpp"

namespace {

using namespace magva;

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

/// Logistic regression with the N(0, 10) prior, as one would first write it.
void plain_logistic(const RowMatrix& x, const Vector& y, const Matrix& theta, Vector& log_density,
                    Matrix& gradient, Matrix& eta) {
  const double q = static_cast<double>(x.cols());
  eta.noalias() = x * theta;
  log_density =
      (eta.array().colwise() * y.array() - (eta.array().max(0.0) + (-eta.array().abs()).exp().log1p()))
          .colwise()
          .sum()
          .transpose();
  eta = (-(1.0 + (-eta.array()).exp()).inverse()).colwise() + y.array();
  gradient.noalias() = x.transpose() * eta;
  gradient -= theta / 10.0;
  log_density.array() -=
      0.5 * q * std::log(20.0 * M_PI) + theta.colwise().squaredNorm().transpose().array() / 20.0;
}

/// The centred horseshoe, likewise.
void plain_horseshoe(const RowMatrix& x, const Vector& y, const Matrix& theta, Vector& log_density,
                     Matrix& gradient, Matrix& eta) {
  const Index q = x.cols() - 1;
  eta.noalias() = x * theta.topRows(q + 1);
  log_density =
      (eta.array().colwise() * y.array() - (eta.array().max(0.0) + (-eta.array().abs()).exp().log1p()))
          .colwise()
          .sum()
          .transpose();
  eta = (-(1.0 + (-eta.array()).exp()).inverse()).colwise() + y.array();
  gradient.topRows(q + 1).noalias() = x.transpose() * eta;
  for (Index s = 0; s < theta.cols(); ++s) {
    const double t = theta(2 * q + 1, s);
    const auto beta = theta.col(s).segment(1, q).array();
    const auto l = theta.col(s).segment(q + 1, q).array();
    const Eigen::ArrayXd k = (-2.0 * (l + t)).exp();
    const Eigen::ArrayXd square = beta.square() * k;
    gradient(0, s) -= theta(0, s) / 10.0;
    gradient.col(s).segment(1, q).array() -= beta * k;
    gradient.col(s).segment(q + 1, q) = square - 1.0 - l.tanh();
    gradient(2 * q + 1, s) = (square - 1.0).sum() - std::tanh(t);
    log_density(s) += (-0.5 * std::log(2.0 * M_PI) - l - t - 0.5 * square).sum() +
                      (std::log(2.0 / M_PI) + l - (1.0 + (2.0 * l).exp()).log()).sum() +
                      std::log(2.0 / M_PI) + t - std::log1p(std::exp(2.0 * t)) - 0.5 * std::log(20.0 * M_PI) -
                      theta(0, s) * theta(0, s) / 20.0;
  }
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
