// One iteration of Algorithm 1 at ionosphere's size, by family and rule, beside the model's gradient alone;
// and iterations on a target that costs next to nothing, by dimension.
#include <benchmark/benchmark.h>

#include "algorithm1/fitter.hpp"
#include "magva/regression.hpp"

namespace {

using namespace magva;

Regression logistic(Index rows, Index cols) {
  Matrix numbers(rows * cols + rows, 1);
  Noise(1, NoiseStream::kStarts).fill(0, 0, numbers);
  RowMatrix x = Eigen::Map<const RowMatrix>(numbers.data(), rows, cols);
  x.col(0).setOnes();
  const Vector y = (numbers.col(0).tail(rows).array() > 0).cast<double>();
  return logistic_regression({Design::own(std::move(x)), y, {}, {}});
}

void time_steps(benchmark::State& state, const Model& model, const FitterOptions& options) {
  Fitter fitter(model, options);
  for (auto _ : state) benchmark::DoNotOptimize(fitter.step());
}

FitterOptions with(FamilyKind family, RuleKind rule, Index rank) {
  FitterOptions options;
  options.family = family;
  options.rank = rank;
  options.factor_rule = rule_defaults(rule);
  return options;
}

void ModelGradient(benchmark::State& state) {
  const Regression model = logistic(351, 112);
  Workers workers;
  const auto scratch = model.make_scratch(1);
  Evaluation evaluation{*scratch, workers};
  Matrix theta = Matrix::Constant(112, 1, .1);
  Matrix gradient(112, 1);
  Vector log_density(1);
  for (auto _ : state) {
    model.evaluate(theta, log_density, gradient, evaluation);
    benchmark::DoNotOptimize(gradient.data());
  }
}

void Normals(benchmark::State& state) {
  const Noise noise(1, NoiseStream::kFit);
  Matrix out(state.range(0), 1);
  std::uint64_t iteration = 0;
  for (auto _ : state) {
    noise.fill(++iteration, 0, out);
    benchmark::DoNotOptimize(out.data());
  }
}

void Step(benchmark::State& state, FamilyKind family, RuleKind rule) {
  time_steps(state, logistic(351, 112), with(family, rule, 4));
}

void CheapTargetStep(benchmark::State& state, RuleKind rule) {
  const auto model = make_model(state.range(0), [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  });
  FitterOptions options = with(FamilyKind::kStiefel, rule, 10);
  options.threads = static_cast<int>(state.range(1));
  time_steps(state, model, options);
}

BENCHMARK(ModelGradient);
BENCHMARK(Normals)->Arg(116)->Arg(10000);
BENCHMARK_CAPTURE(Step, mean_field, FamilyKind::kMeanField, RuleKind::kAdadeltaStable);
BENCHMARK_CAPTURE(Step, vafc_adadelta, FamilyKind::kVafc, RuleKind::kAdadeltaStable);
BENCHMARK_CAPTURE(Step, stiefel_basic, FamilyKind::kStiefel, RuleKind::kBasic);
BENCHMARK_CAPTURE(Step, stiefel_momentum, FamilyKind::kStiefel, RuleKind::kMomentum);
BENCHMARK_CAPTURE(Step, stiefel_rmsprop, FamilyKind::kStiefel, RuleKind::kRmsprop);
BENCHMARK_CAPTURE(Step, stiefel_adadelta, FamilyKind::kStiefel, RuleKind::kAdadelta);
BENCHMARK_CAPTURE(Step, stiefel_adadelta_guarded, FamilyKind::kStiefel, RuleKind::kAdadeltaGuarded);
BENCHMARK_CAPTURE(Step, stiefel_rmsprop_stable, FamilyKind::kStiefel, RuleKind::kRmspropStable);
BENCHMARK_CAPTURE(Step, stiefel_adadelta_stable, FamilyKind::kStiefel, RuleKind::kAdadeltaStable);
BENCHMARK_CAPTURE(Step, stiefel_adam, FamilyKind::kStiefel, RuleKind::kAdam);
BENCHMARK_CAPTURE(CheapTargetStep, adadelta_stable, RuleKind::kAdadeltaStable)
    ->ArgsProduct({{1000, 4000, 16000, 64000, 256000, 1000000}, {1, 2}})
    ->UseRealTime();

}  // namespace
