#include "fitting/run.hpp"

#include <fmt/format.h>

#include "fitting/interrupt.hpp"
#include "magva/distribute.hpp"
#include "magva/error.hpp"
#include "magva/minibatch.hpp"

namespace magva::fitting {

namespace {

constexpr std::int64_t kFewestDraws = 16;  // of the default in an iteration

Algorithm1Options algorithm1_options(const options::Values& values) {
  Algorithm1Options options;
  const std::string approximation = values.text("approximation");
  if (approximation != "low-rank") options.family = parse_family(approximation);
  options.factor_rule = rule_defaults(parse_rule(values.text("rule")));
  if (values.given("estimator")) options.estimator = parse_estimator(values.text("estimator"));
  options.antithetic = values.flag("antithetic");
  if (options.antithetic) options.draws = 2;
  if (values.given("draws")) options.draws = values.integer("draws");
  return options;
}

std::optional<Index> rank(const options::Values& values, Index dimension) {
  if (!values.given("rule") && values.text("approximation") == "mean-field") return 0;
  if (!values.given("rule") && values.text("approximation") == "full-rank") return dimension;
  if (values.text("rank") == "auto") return std::nullopt;
  return values.integer("rank");
}

/// Shows progress, keeps the trace, and passes on Ctrl-C.
class Watch {
 public:
  Watch(const FitTask& task, const FitOptions& options)
      : task_(task),
        most_iterations_(options.max_iterations.value_or(kAlgorithm1Iterations)),
        most_gradients_(most_gradients(task, options)),
        trace_(most_rows(task, options)) {}

  bool operator()(const FitView& view) {
    const bool iterations = view.phase == Phase::kIterations;
    if ((iterations || view.phase == Phase::kRefinement) && view.iteration != trace_.last_iteration())
      trace_.add(view);
    if (iterations)
      task_.progress.show(view, {"iteration", view.iteration, most_iterations_, true});
    else
      task_.progress.show(view, {fmt::format("{}, gradient", to_string(view.phase)),
                                 view.gradient_evaluations, most_gradients_, false});
    return !InterruptGuard::asked();
  }

  results::Trace& trace() { return trace_; }

 private:
  static constexpr std::int64_t kMinibatchIterations = 1000;
  static constexpr std::int64_t kExactIterations = 10'000;

  /// Of the trace, before it is thinned out.
  std::int64_t most_rows(const FitTask& task, const FitOptions& options) const {
    if (options.algorithm1) return most_iterations_;
    if (task.source.model->expectations() != nullptr) return kExactIterations;
    const std::int64_t gradients =
        most_gradients_.value_or(options.evaluation_limit(task.source.model->dimension()));
    return gradients / kFewestDraws + 1;
  }

  /// Of passes and refinement on minibatches: the sample's fit is little beside them where data are large.
  static std::optional<std::int64_t> most_gradients(const FitTask& task, const FitOptions& options) {
    const auto& minibatch = task.source.minibatch;
    if (!minibatch || minibatch->batches() == 1) return std::nullopt;
    const std::int64_t draws = options.minibatch.draws + 1;
    const std::int64_t iterations = options.max_iterations.value_or(kMinibatchIterations);
    return draws * (options.minibatch.passes + 1) + iterations * draws / minibatch->batches();
  }

  const FitTask& task_;
  std::int64_t most_iterations_;
  std::optional<std::int64_t> most_gradients_;
  results::Trace trace_;
};

CheckpointOptions checkpoint_options(const FitTask& task, results::Trace& trace) {
  return {.path = task.folder.checkpoint(),
          .every = task.values.number("checkpoint"),
          .resume = task.resume,
          .identity = task.identity,
          .attach = [&trace] { return trace.to_bytes(); },
          .restore = [&trace](const std::string& bytes) { trace.restore(bytes); }};
}

/// Options of which one leaves the other without a meaning.
void check_contradictions(const options::Values& values, std::vector<std::string>& found) {
  const std::string form = values.text("approximation");
  if (values.given("rank") && values.text("rank") != "auto" && (form == "full-rank" || form == "mean-field"))
    found.push_back(
        fmt::format("--rank has no meaning with --approximation {}: leave one of them out", form));
  if (values.given("layers") && values.text("shape") != "flow" && !values.given("rule"))
    found.push_back("--layers is of a flow: add --shape flow, or leave --layers out");
  if (!values.given("rule")) return;
  for (const char* option : {"starts", "evaluations", "shape", "layers", "sd-for"})
    if (values.given(option))
      found.push_back(fmt::format(
          "--{} is of the default optimiser and has no meaning with --rule: leave one of them out", option));
}

}  // namespace

FitOptions fit_options(const options::Values& values, Index dimension) {
  FitOptions options;
  options.rank = rank(values, dimension);
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.threads = static_cast<int>(values.integer("threads"));
  if (options.threads == 0 && is_rank_of_job()) options.threads = threads_of_rank();
  if (values.given("time-limit")) options.time_limit = values.number("time-limit");
  if (values.given("iterations")) options.max_iterations = values.integer("iterations");
  if (values.given("evaluations")) options.max_evaluations = values.integer("evaluations");
  options.starts = static_cast<int>(values.integer("starts"));
  options.shape = parse_shape(values.text("shape"));
  options.layers = static_cast<int>(values.integer("layers"));
  if (values.given("rule")) options.algorithm1 = algorithm1_options(values);
  return options;
}

std::vector<std::string> invalid_options(const options::Values& values, Index dimension) {
  auto found = fit_options(values, dimension).validate(dimension);
  check_contradictions(values, found);
  if (values.given("rule")) return found;
  const auto of_rules = [&](const std::string& option) {
    found.push_back(fmt::format(
        "the default optimiser has no {}: choose a --rule of the paper, or leave it out", option));
  };
  if (values.given("draws")) of_rules("--draws");
  if (values.given("estimator")) of_rules("--estimator");
  if (values.flag("antithetic")) of_rules("--antithetic");
  const std::string form = values.text("approximation");
  if (form == "stiefel" || form == "grassmann" || form == "vafc" || form == "fixed-rank")
    of_rules("--approximation " + form);
  return found;
}

std::vector<std::string> parameters_asked_for(const options::Values& values,
                                              const source::ModelSource& source) {
  auto names = values.list("sd-for");
  if (names.empty()) return names;
  if (source.mixed)
    throw UsageError(
        "--sd-for is of models without group effects, whose sds need no correction: leave it out");
  check_sd_names(*source.model, names);
  return names;
}

FitOutcome run(const FitTask& task) {
  const auto names = parameters_asked_for(task.values, task.source);
  FitOptions options = fit_options(task.values, task.source.model->dimension());
  Watch watch(task, options);
  options.checkpoint = checkpoint_options(task, watch.trace());
  const std::vector<Observer> observers{[&](const FitView& view) { return watch(view); }};
  FitResult result = source::fit(task.source, options, observers);
  SdCorrection sds = correct_sds(*task.source.model, result, names, options, observers);
  return {std::move(result), watch.trace(), std::move(sds)};
}

}  // namespace magva::fitting
