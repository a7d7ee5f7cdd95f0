#pragma once
// A regression as a source of posteriors, whatever its rows come from.
#include "source/model_spec.hpp"

namespace magva::source {

/// The specification of a model, but for its design, as the options say. Throws UsageError.
ModelSpec model_spec_for(RegressionOptions options, RegressionKind model);

/// Priors on the scale of the data, of a model that is not a P-spline.
void set_default_priors(ModelSpec& spec, const RegressionData& data);

ModelSource make_regression_source(ModelSpec spec, Regression regression, const RegressionOptions& options);

}  // namespace magva::source
