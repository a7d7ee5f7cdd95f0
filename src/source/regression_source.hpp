#pragma once
// A regression as a source of posteriors, whatever its rows come from.
#include "source/default_priors.hpp"
#include "source/model_spec.hpp"

namespace magva::source {

/// Checks take time and memory for each row and draw: longer tables are not checked.
inline constexpr Index kMostRowsChecked = 200'000;

/// The specification of a model, but for its design, as the options say. Throws UsageError.
ModelSpec model_spec_for(RegressionOptions options, RegressionKind model);

/// Priors on the scale of the data, of a model that is not a P-spline.
void set_default_priors(ModelSpec& spec, const RegressionData& data);
void set_default_priors(ModelSpec& spec, const DesignMoments& moments, const Vector& response);

/// The model of a source, with its minibatches, start and the draws that its assessment can afford.
void set_regression(ModelSource& source, std::shared_ptr<const Regression> model,
                    const RegressionOptions& options);

ModelSource make_regression_source(ModelSpec spec, Regression regression, const RegressionOptions& options);

/// What fit.json says about a table.
DataRecord record_of(const table::Table& table, Index rows_of_all);

}  // namespace magva::source
