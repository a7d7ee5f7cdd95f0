#include "fitting/algorithm_one.hpp"
#include "fitting/run.hpp"

namespace magva::fitting {

FitOutcome run_default(const FitTask& task) {
  const auto& values = task.values;
  FitOptions options;
  options.family.kind = parse_family(values.text("family"));
  options.family.rank =
      values.text("rank") == "auto" ? std::min<Index>(4, task.model.dimension()) : values.integer("rank");
  if (options.family.kind == FamilyKind::kMeanField) options.family.rank = 0;
  options.family.scales = ScaleCoordinates::kLog;
  options.factor_rule = options.mean_rule = options.scale_rule = rule_defaults(RuleKind::kAdam);
  options.estimator = Estimator::kPath;
  options.antithetic = true;
  options.draws = values.given("draws") ? values.integer("draws") : 10;
  options.decay = StepDecay::kCosine;
  options.average_last = .5;
  if (values.given("iterations")) options.max_iterations = values.integer("iterations");
  return run_algorithm_one(task, options);
}

}  // namespace magva::fitting
