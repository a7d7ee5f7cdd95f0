#include "experiments/engine_run.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>

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

EngineRun run_engine(Fitter& fitter, std::int64_t window, const StopFlag& stop) {
  Curve curve{window, {}};
  CurveRecorder recorder(curve);
  const double started = thread_seconds();
  FitterResult result = fitter.run({[&](const IterationView& view) {
    recorder.add(view);
    if (view.iteration % window == 0 && stop()) throw Interrupted();
    return true;
  }});
  return {std::move(result), std::move(curve), thread_seconds() - started};
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
