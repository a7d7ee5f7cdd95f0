#include "fitting/algorithm_one.hpp"

#include <fmt/format.h>

#include "fitting/assess.hpp"
#include "fitting/watch.hpp"

namespace magva::fitting {

namespace {

Fitter make_fitter(const FitTask& task, const FitOptions& options) {
  if (task.resume) return Fitter::resume(task.folder.checkpoint(), task.model, options.threads);
  return Fitter(task.model, options, Whitening::none(task.model.dimension()), task.start);
}

std::vector<std::string> warnings_about(const FitResult& result, const Assessment& assessment) {
  std::vector<std::string> warnings;
  if (result.stopped == StopReason::kDiverged)
    warnings.push_back(fmt::format("the fit diverged: {}", result.evidence));
  if (result.stopped == StopReason::kInterrupted || result.stopped == StopReason::kTimeLimit)
    warnings.push_back(
        fmt::format("the fit was stopped early ({}): continue it with --resume", result.evidence));
  if (assessment.rejected * 100 > assessment.draws)
    warnings.push_back(fmt::format("the model could not be evaluated at {} of {} draws from the posterior",
                                   assessment.rejected, assessment.draws));
  if (!std::isfinite(assessment.elbo)) warnings.emplace_back("the ELBO of the result is not finite");
  return warnings;
}

}  // namespace

FitOutcome run_algorithm_one(const FitTask& task, FitOptions options) {
  options.seed = static_cast<std::uint64_t>(task.values.integer("seed"));
  options.threads = static_cast<int>(task.values.integer("threads"));
  Fitter fitter = make_fitter(task, options);
  Watch watch(task, fitter.options().max_iterations, [&] { fitter.save(task.folder.checkpoint()); });
  if (task.resume) watch.trace().restore(task.folder.trace(), fitter.iteration());
  FitResult result = fitter.run({[&](const IterationView& view) { return watch(view); }});
  if (watch.stopped()) {
    watch.save_checkpoint();
    result.stopped = *watch.stopped();
    result.evidence = watch.evidence();
  }
  const Assessment assessment = assess(task.model, result.posterior, options.seed, options.threads);
  auto warnings = warnings_about(result, assessment);
  const bool trusted = warnings.empty();
  return {std::move(result),
          assessment.elbo,
          assessment.elbo_se,
          std::nullopt,
          trusted,
          std::move(warnings),
          name(fitter.options().family.kind),
          watch.trace()};
}

}  // namespace magva::fitting
