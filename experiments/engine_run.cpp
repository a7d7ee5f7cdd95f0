#include "experiments/engine_run.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

#include "magva/fit.hpp"

namespace magva::experiments {

namespace {

class CurveRecorder {
 public:
  explicit CurveRecorder(Curve& curve) : curve_(curve) {}
  void add(const IterationView& view) {
    if (std::isfinite(view.elbo)) {
      sum_ += view.elbo;
      ++finite_;
    }
    if (view.iteration % curve_.window != 0) return;
    curve_.elbo.push_back(finite_ > 0 ? sum_ / finite_ : std::numeric_limits<double>::quiet_NaN());
    sum_ = finite_ = 0;
  }

 private:
  Curve& curve_;
  double sum_ = 0, finite_ = 0;
};

}  // namespace

double thread_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

EngineRun run_engine(Fitter& fitter, std::int64_t window, const StopFlag& stop,
                     std::vector<std::int64_t> checkpoints) {
  const std::int64_t end = fitter.options().max_iterations;
  std::erase_if(checkpoints, [&](std::int64_t checkpoint) { return checkpoint >= end; });
  checkpoints.push_back(end);
  EngineRun run{{}, {window, {}}, 0, 0, StopReason::kIterationLimit};
  CurveRecorder recorder(run.curve);
  for (const std::int64_t checkpoint : checkpoints) {
    const double started = thread_seconds();
    const FitterResult result = fitter.run({[&](const IterationView& view) {
      recorder.add(view);
      if (view.iteration % window == 0 && stop()) throw Interrupted();
      return view.iteration != checkpoint || checkpoint == end;
    }});
    run.seconds += thread_seconds() - started;
    run.snapshots.push_back({checkpoint, result.posterior, run.seconds});
    run.rejected_draws = result.rejected_draws;
    run.stopped = result.stopped;
    if (result.stopped == StopReason::kDiverged) break;
  }
  while (run.snapshots.size() < checkpoints.size()) {
    Snapshot last = run.snapshots.back();
    last.iteration = checkpoints[run.snapshots.size()];
    run.snapshots.push_back(std::move(last));
  }
  return run;
}

double seconds_per_evaluation(const Model& model, FitterOptions options) {
  constexpr double kLongEnough = .05;
  options.max_iterations = 1'000'000;
  Fitter fitter(model, options);
  fitter.step();  // allocations and first touches are not typical
  const double started = thread_seconds();
  std::int64_t evaluations = 0;
  double seconds = 0;
  while (seconds < kLongEnough) {
    fitter.step();
    evaluations += options.draws;
    seconds = thread_seconds() - started;
  }
  return seconds / static_cast<double>(evaluations);
}

DefaultFit default_fit(const Model& model, std::optional<Index> rank, std::uint64_t seed,
                       std::int64_t max_evaluations, const StopFlag& stop) {
  FitOptions options;
  options.max_evaluations = max_evaluations;
  options.rank = rank;
  options.seed = seed;
  options.threads = 1;
  const double started = thread_seconds();
  FitResult result = fit(model, options, {[&](const FitView&) { return !stop(); }});
  if (stop()) throw Interrupted();
  return {std::move(result.posterior), result.elbo, thread_seconds() - started,
          std::move(result.stop_detail)};
}

double factor_share(const Gaussian& posterior) {
  return posterior.rank() == 0 ? 0 : posterior.factor_shares().sum();
}

Score score(const Model& model, const Gaussian& posterior, Index draws, std::uint64_t seed) {
  constexpr Index kBatch = 50;
  Workers workers(1);
  const auto scratch = model.make_scratch(kBatch);
  Vector difference(draws), log_density(kBatch);
  Matrix gradient(model.dimension(), kBatch);
  for (Index first = 0; first < draws; first += kBatch) {
    const Index count = std::min(kBatch, draws - first);
    const Matrix theta = posterior.draws(count, seed, static_cast<std::uint32_t>(first));
    Evaluation evaluation{*scratch, workers, 0};
    model.evaluate(theta, log_density.head(count), gradient.leftCols(count), evaluation);
    difference.segment(first, count) = log_density.head(count) - posterior.log_density(theta);
  }
  const double mean = difference.mean(), n = static_cast<double>(draws);
  return {mean, std::sqrt((difference.array() - mean).square().sum() / (n - 1) / n)};
}

}  // namespace magva::experiments
