#pragma once
// What a regression is made of, for code that evaluates it elsewhere: on another device, or on several
// machines.
#include <memory>
#include <string>
#include <vector>

#include "magva/regression.hpp"

namespace magva::detail {

/// Shared with the Regression.
struct RegressionTerms {
  Design design;
  std::shared_ptr<const Vector> response;  ///< filled up with zeros to a multiple of 8, as are the weights
  std::shared_ptr<const Vector> weight;
  std::shared_ptr<const Vector> offset;  ///< null: none
  std::shared_ptr<const Vector> status;  ///< null: no row is censored
  bool unweighted;
  double constant;  ///< of the log likelihood of all rows
  std::vector<std::string> names;
  std::shared_ptr<const Likelihood> likelihood;
  std::shared_ptr<const CoefficientPrior> prior;
};

}  // namespace magva::detail
