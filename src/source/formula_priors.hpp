#pragma once
// The priors of a regression by a formula: its defaults, what users say instead, and how they are shown.
#include <vector>

#include "magva/formula_model.hpp"
#include "magva/mixed.hpp"
#include "magva/model_source.hpp"

namespace magva::source {

/// On the scale of the data, but for those that the options name.
void set_priors(FormulaModel& model, const formula::LearntFormula& learnt, const FormulaOptions& options);

/// Those of a model with groups, as its fit takes them.
MixedPriors group_priors(const FormulaModel& model);

/// What a summary shows, in the units of the formula's own columns.
std::vector<PriorRecord> formula_prior_records(const FormulaModel& model);

}  // namespace magva::source
