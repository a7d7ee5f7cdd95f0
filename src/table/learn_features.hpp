#pragma once
#include <functional>
#include <string>
#include <vector>

#include "table/design_spec.hpp"
#include "table/table.hpp"

namespace magva::input {

struct FeatureSelection {
  FeaturesTerm term;                   ///< with scales of one
  std::vector<DroppedColumn> dropped;  ///< those that are constant
  Index absent = 0;  ///< how many indices no row has: not named, since there may be millions
};

/// Which features of a LIBSVM file are in the design: those that `wanted` accepts by name and that are not
/// constant.
FeatureSelection select_features(const SparseRowMatrix& features,
                                 const std::function<bool(const std::string&)>& wanted);

/// Sets the scales to the standard deviations (divisor n - 1).
void scale_features(FeaturesTerm& term, const SparseRowMatrix& features);

}  // namespace magva::input
