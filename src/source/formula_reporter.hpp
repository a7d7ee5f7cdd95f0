#pragma once
// What a regression by a formula says on the user's scale.
#include <memory>
#include <string>
#include <vector>

#include "magva/formula_model.hpp"
#include "magva/mixed.hpp"
#include "magva/priors.hpp"
#include "magva/regression.hpp"

namespace magva::source {

/// Names of a group's effects: "Intercept", "x1".
std::vector<std::string> effect_names(const formula::FormulaSpec& spec, const formula::GroupSpec& group);
/// Names of the columns of the design, those of smooth terms too.
std::vector<std::string> coefficient_names(const FormulaModel& model);

/// From coefficients of the design, centred and scaled, to those of the formula's own columns, and back: one
/// row per column of the design (there may be more rows), one column per draw.
void to_own_scale(const FormulaModel& model, Matrix& coefficients);
void to_design_scale(const FormulaModel& model, Matrix& coefficients);

/// The same for the population's part of a mixed model's draws, with cut points and all linear predictors.
void population_to_own_scale(const FormulaModel& model, Matrix& population);

/// A horseshoe as a block of a prior.
BlockPrior block_of(const FormulaModel::Horseshoe& horseshoe);

/// Of a model without groups on one row of no importance, which gives it its shape: good for prediction only.
Regression formula_without_data(const FormulaModel& model);

/// Without groups: coefficients, then the family's own parameters.
std::unique_ptr<Reporter> make_plain_reporter(std::shared_ptr<const FormulaModel> model,
                                              std::shared_ptr<const Regression> regression);
/// With groups: coefficients, own parameters, sds, correlations, and the effects of each group.
std::unique_ptr<Reporter> make_group_reporter(std::shared_ptr<const FormulaModel> model,
                                              std::shared_ptr<const MixedModel> mixed);
/// Draws of theta that a fit with groups has found beside its posterior, one column each: its reporter's
/// joint_draws takes them instead of looking for its own. No other reporter needs them.
void keep_draws(const Reporter& reporter, const Gaussian& posterior, Matrix theta);
/// Of a stored fit: with groups, its stored draws.
std::unique_ptr<Reporter> make_stored_reporter(std::shared_ptr<const FormulaModel> model);

}  // namespace magva::source
