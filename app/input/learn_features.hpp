#pragma once
#include <functional>
#include <string>
#include <vector>

#include "input/design_spec.hpp"
#include "input/table.hpp"

namespace magva::input {

/// Which features of a LIBSVM file are in the design: those that `wanted` accepts by name and that are not
/// constant; constant ones are added to `dropped`. With scales of one.
FeaturesTerm select_features(const SparseRowMatrix& features,
                             const std::function<bool(const std::string&)>& wanted,
                             std::vector<DroppedColumn>& dropped);

/// Sets the scales to the standard deviations (divisor n - 1).
void scale_features(FeaturesTerm& term, const SparseRowMatrix& features);

}  // namespace magva::input
