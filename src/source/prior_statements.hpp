#pragma once
// Priors as users write them: 'x1 ~ normal(0, 1)'.
#include <string>
#include <vector>

#include "magva/formula_model.hpp"

namespace magva::source {

/// Puts the priors that the statements name in the place of the defaults. Throws UsageError, naming the
/// statement, if it cannot be read or names no parameter of the model.
void apply_priors(const std::vector<std::string>& statements, FormulaModel& model);

/// Whether one of them is a horseshoe, for which columns are standardised.
bool wants_horseshoe(const std::vector<std::string>& statements);

}  // namespace magva::source
