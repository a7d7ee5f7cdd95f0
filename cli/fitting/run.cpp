#include "fitting/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fitting/interrupt.hpp"
#include "magva/minibatch.hpp"

namespace magva::fitting {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kFewestDraws = 16;  // of the default in an iteration

Algorithm1Options algorithm1_options(const options::Values& values) {
  Algorithm1Options options;
  options.family = parse_family(values.text("family"));
  options.factor_rule = rule_defaults(parse_rule(values.text("rule")));
  if (values.given("estimator")) options.estimator = parse_estimator(values.text("estimator"));
  options.antithetic = values.flag("antithetic");
  if (options.antithetic) options.draws = 2;
  if (values.given("draws")) options.draws = values.integer("draws");
  return options;
}

std::optional<Index> rank(const options::Values& values, Index dimension) {
  if (!values.given("rule") && values.text("family") == "mean-field") return 0;
  if (!values.given("rule") && values.text("family") == "full-rank") return dimension;
  if (values.text("rank") == "auto") return std::nullopt;
  return values.integer("rank");
}

FitOptions fit_options(const options::Values& values, Index dimension) {
  FitOptions options;
  options.rank = rank(values, dimension);
  options.seed = static_cast<std::uint64_t>(values.integer("seed"));
  options.threads = static_cast<int>(values.integer("threads"));
  if (values.given("time-limit")) options.time_limit = values.number("time-limit");
  if (values.given("iterations")) options.max_iterations = values.integer("iterations");
  if (values.given("evaluations")) options.max_evaluations = values.integer("evaluations");
  options.starts = static_cast<int>(values.integer("starts"));
  if (values.given("rule")) options.algorithm1 = algorithm1_options(values);
  return options;
}

/// What the summary will show, where that is not theta itself.
std::optional<Quantities> quantities(const source::ModelSource& source, std::uint64_t seed) {
  const auto all = source.quantities();
  if (std::all_of(all.begin(), all.end(), [](const auto& q) { return q.coordinate.has_value(); }))
    return std::nullopt;
  Quantities out;
  for (const auto& quantity : all) out.names.push_back(quantity.name);
  out.at = [&source, seed](ConstMatrixRef theta) { return source.report(theta, seed); };
  return out;
}

/// Shows progress, keeps the trace, and passes on Ctrl-C.
class Watch {
 public:
  Watch(const FitTask& task, const FitOptions& options)
      : task_(task),
        most_iterations_(options.max_iterations.value_or(kAlgorithm1Iterations)),
        most_gradients_(most_gradients(task, options)),
        trace_(options.algorithm1 ? most_iterations_ : most_gradients_ / kFewestDraws + 1) {}

  bool operator()(const FitView& view) {
    const bool iterations = view.phase == Phase::kIterations;
    if ((iterations || view.phase == Phase::kRefinement) && view.iteration != last_) {
      if (task_.resume && last_ < 0) trace_.restore(task_.folder.trace(), view.iteration - 1);
      trace_.add(view);
      last_ = view.iteration;
    }
    if (iterations)
      task_.progress.show(view, {"iteration", view.iteration, most_iterations_, true});
    else
      task_.progress.show(view, {fmt::format("{}, gradient", to_string(view.phase)),
                                 view.gradient_evaluations, most_gradients_, false});
    return !InterruptGuard::asked();
  }

  results::Trace& trace() { return trace_; }

 private:
  static constexpr std::int64_t kAlgorithm1Iterations = 5000;
  static constexpr std::int64_t kMinibatchIterations = 1000;

  /// On minibatches those of the passes and the refinement: the sample's fit is little beside them where data
  /// are large.
  static std::int64_t most_gradients(const FitTask& task, const FitOptions& options) {
    const Minibatch* minibatch = task.source.minibatch();
    if (minibatch == nullptr || minibatch->batches() == 1)
      return options.evaluation_limit(task.source.model().dimension());
    const std::int64_t draws = options.minibatch.draws + 1;
    const std::int64_t iterations = options.max_iterations.value_or(kMinibatchIterations);
    return draws * (options.minibatch.passes + 1) + iterations * draws / minibatch->batches();
  }

  const FitTask& task_;
  std::int64_t most_iterations_;
  std::int64_t most_gradients_;
  results::Trace trace_;
  std::int64_t last_ = -1;
};

/// The trace first: a resumed run drops the rows that come after its checkpoint, and begins at the end of a
/// row.
CheckpointOptions checkpoint_options(const FitTask& task, Watch& watch) {
  return {.path = task.folder.checkpoint(),
          .every = task.values.number("checkpoint"),
          .resume = task.resume,
          .before_saving = [&] {
            if (!watch.trace().at_row_end()) return false;
            watch.trace().save(task.folder.trace());
            return true;
          }};
}

Json or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json batch_details(const Minibatch& minibatch, std::int64_t iterations, Index diagnostic_draws) {
  const auto batches = minibatch.batches();
  return {{"rows", minibatch.options().rows},
          {"run", minibatch.options().run},
          {"batches_per_epoch", batches},
          {"epochs", static_cast<double>(iterations) / static_cast<double>(batches)},
          {"elbo_rows", minibatch.full().rows()},
          {"elbo_draws", diagnostic_draws}};
}

}  // namespace

std::vector<std::string> invalid_options(const options::Values& values, Index dimension) {
  auto found = fit_options(values, dimension).validate(dimension);
  if (values.given("rule")) return found;
  const auto of_rules = [&](const std::string& option) {
    found.push_back(fmt::format(
        "the default optimiser has no {}: choose a --rule of the paper, or leave it out", option));
  };
  if (values.given("draws")) of_rules("--draws");
  if (values.given("estimator")) of_rules("--estimator");
  if (values.flag("antithetic")) of_rules("--antithetic");
  const std::string family = values.text("family");
  if (family == "grassmann" || family == "vafc" || family == "fixed-rank") of_rules("--family " + family);
  return found;
}

FitOutcome run(const FitTask& task) {
  const Model& model = task.source.model();
  FitOptions options = fit_options(task.values, model.dimension());
  options.init = task.source.start();
  options.diagnostic_draws = task.source.judging_draws();
  options.quantities = quantities(task.source, options.seed);
  Watch watch(task, options);
  if (options.algorithm1) options.checkpoint = checkpoint_options(task, watch);
  FitResult result = fit(model, options, {[&](const FitView& view) { return watch(view); }});
  return {std::move(result), watch.trace()};
}

nlohmann::ordered_json details(const FitResult& result, const source::ModelSource& source) {
  Json out = Json::object();
  if (!result.manifold) {
    out = {{"expectations", result.expectations == Expectations::kExact ? "exact" : "draws"},
           {"rank_path", Json::array()},
           {"starts", Json::array()}};
    for (const auto& step : result.rank_path)
      out["rank_path"].push_back({{"rank", step.rank}, {"gain", or_null(step.gain)}});
    for (const auto& start : result.starts)
      out["starts"].push_back({{"log_density", or_null(start.log_density)},
                               {"converged", start.converged},
                               {"elbo", or_null(start.elbo)}});
  }
  const Minibatch* minibatch = source.minibatch();
  if (minibatch != nullptr && (result.manifold || minibatch->batches() > 1))
    out["batch"] = batch_details(*minibatch, result.iterations, source.judging_draws());
  return out;
}

}  // namespace magva::fitting
