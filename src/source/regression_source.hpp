#pragma once
// A regression as a source of posteriors, whatever its rows come from.
#include "source/model_spec.hpp"

namespace magva::source {

/// The specification of a model, but for its design, as the options say. Throws UsageError.
ModelSpec model_spec_for(RegressionOptions options, RegressionKind model);

ModelSource make_regression_source(ModelSpec spec, Regression regression, const RegressionOptions& options);

}  // namespace magva::source
