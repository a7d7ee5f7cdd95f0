#pragma once
// The parameters of a regression on the user's scale.
#include "source/model_source.hpp"
#include "source/recipe.hpp"

namespace magva::source {

/// The coefficients by name, then the hyper-parameters: those that live on a log or logit scale on their own.
std::vector<Quantity> table_quantities(const Recipe& recipe, const Regression& model);
Matrix table_report(const Regression& model, ConstMatrixRef theta);

/// The same without the data of the fit.
std::unique_ptr<Reporter> make_table_reporter(Recipe recipe);

}  // namespace magva::source
