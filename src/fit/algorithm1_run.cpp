// Algorithm 1 behind fit(): a Fitter with its checkpoints, and the assessment of what it returns.
#include "fit/algorithm1_run.hpp"

#include "algorithm1/fitter.hpp"
#include "fit/checkpoints.hpp"
#include "fit/runs.hpp"

namespace magva {

namespace {

Fitter make_fitter(const Model& model, const FitOptions& options, int threads,
                   const Checkpoints& checkpoints) {
  std::optional<Fitter> fitter;
  if (checkpoints.resumes())
    checkpoints.load([&](io::ChecksummedReader& in) { fitter.emplace(Fitter::resume(in, model, threads)); });
  else
    fitter.emplace(model, fitter_options(options, model.dimension(), threads),
                   Whitening::none(model.dimension()), options.init.value_or(model.start()));
  return std::move(*fitter);
}

/// Of a gradient, in gradients on all rows.
double gradient_cost(const Model& model) {
  const auto* minibatch = dynamic_cast<const Minibatch*>(&model);
  return minibatch == nullptr ? 1 : 1 / static_cast<double>(minibatch->batches());
}

FitterResult run(Fitter& fitter, Control& control, Checkpoints& checkpoints, double cost) {
  std::int64_t evaluations = 0;
  const auto write = [&](io::ChecksummedWriter& out) { fitter.save(out); };
  try {
    return fitter.run({[&](const IterationView& view) {
      control.spend(cost * static_cast<double>(view.gradient_evaluations - evaluations));
      evaluations = view.gradient_evaluations;
      control.report(view.iteration, view.elbo);
      checkpoints.save_when_due(view.seconds, write);
      return true;
    }});
  } catch (const Stopped&) {
    checkpoints.save(write);
    return fitter.result(control.reason(), control.detail());
  }
}

}  // namespace

FitterOptions fitter_options(const FitOptions& options, Index dimension, int threads) {
  FitterOptions out;
  static_cast<Algorithm1Options&>(out) = *options.algorithm1;
  out.rank = options.rank.value_or(std::min(kAlgorithm1Rank, dimension));
  if (out.family == FamilyKind::kMeanField) out.rank = 0;
  out.seed = options.seed;
  out.threads = threads;
  if (options.max_iterations) out.max_iterations = *options.max_iterations;
  return out;
}

FitResult run_algorithm1(const Model& model, const Model& full, const FitOptions& options,
                         const std::vector<Observer>& observers) {
  const int threads = choose_threads(options.threads, model);
  Control control({.seconds = options.time_limit}, observers, Phase::kIterations);
  Checkpoints checkpoints(options.checkpoint, "Algorithm 1");
  Fitter fitter = make_fitter(model, options, threads, checkpoints);
  if (checkpoints.resumes()) control.add_earlier_seconds(fitter.seconds());
  FitterResult fitted = run(fitter, control, checkpoints, gradient_cost(model));
  const std::int64_t evaluations = control.evaluations();
  Evaluator evaluator(full, threads, &control);
  const FitEnding ending{fitted.stopped, std::move(fitted.stop_detail),
                         fitted.stopped == StopReason::kIterationLimit, false};
  Assessment assessment = assess(evaluator, fitted.posterior, ending,
                                 {.draws = options.diagnostic_draws,
                                  .seed = options.seed,
                                  .quantities = options.quantities ? &*options.quantities : nullptr,
                                  .estimate = std::nullopt});
  FitResult result = assessed(std::move(fitted.posterior), std::move(assessment));
  result.manifold = fitter.options().family;
  result.iterations = fitted.iterations;
  result.gradient_evaluations = evaluations;
  result.rejected_draws = fitted.rejected_draws;
  result.seconds = control.seconds();
  return result;
}

}  // namespace magva
