#pragma once
// A regression as a source of posteriors, whatever its rows come from.
#include <memory>
#include <string>
#include <vector>

#include "source/model_source.hpp"
#include "source/recipe.hpp"

namespace magva::source {

/// The recipe of a model, but for its design, as the options say. Throws UsageError.
Recipe recipe_for(const options::Values& values, const std::string& model);

/// With --batch the model works on minibatches.
std::unique_ptr<ModelSource> make_regression_source(Recipe recipe, Regression model,
                                                    const options::Values& values, DataRecord data,
                                                    std::vector<std::string> notes);

}  // namespace magva::source
