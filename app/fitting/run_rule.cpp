#include <fmt/format.h>

#include "fitting/algorithm_one.hpp"
#include "fitting/run.hpp"

namespace magva::fitting {

FitOutcome run_rule(const FitTask& task) {
  const auto& values = task.values;
  FitOptions options;
  options.family.kind = parse_family(values.text("family"));
  options.family.rank = values.text("rank") == "auto" ? options.family.rank : values.integer("rank");
  if (options.family.kind == FamilyKind::kMeanField) options.family.rank = 0;
  options.factor_rule = rule_defaults(parse_rule(values.text("rule")));
  if (values.given("estimator")) options.estimator = parse_estimator(values.text("estimator"));
  if (values.given("draws")) options.draws = values.integer("draws");
  if (values.given("iterations")) options.max_iterations = values.integer("iterations");
  return run_algorithm_one(task, options);
}

}  // namespace magva::fitting
