#pragma once
// From a specification to a regression on rows, and the specification as JSON.
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "magva/model_source.hpp"
#include "magva/regression.hpp"

namespace magva::source {

nlohmann::json to_json(const ModelSpec& spec);
/// DataError, naming `origin`, if the JSON is none that to_json can have written.
ModelSpec model_spec_from_json(const nlohmann::json& json, const std::string& origin);

/// What the response of a regression is.
table::ResponseKind response_kind(RegressionKind model);
/// The regression for a response of this kind.
RegressionKind regression_for(table::ResponseKind kind);

/// Rows as the models of the engine take them.
Design engine_design(const ModelSpec& spec, table::EncodedRows rows);
/// The model on these rows; not for P-splines, which are built from their covariate.
Regression build_regression(const ModelSpec& spec, RegressionData data);
/// The P-spline on the covariate of these rows.
Regression build_pspline(const ModelSpec& spec, const table::EncodedRows& rows);
/// On one row of no importance, which gives the model its shape: good for prediction only.
Regression model_without_data(const ModelSpec& spec);

}  // namespace magva::source
