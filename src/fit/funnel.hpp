#pragma once
// Funnels: a parameter whose value decides how wide others are, such as the log sd of group effects (Neal
// 2003). No Gaussian has that, but the same model written in its other form, centred or non-centred, may have
// a posterior that is nearly Gaussian (Papaspiliopoulos, Roberts and Skold 2007).
#include <optional>
#include <string>
#include <vector>

#include "core/evaluator.hpp"
#include "magva/posterior.hpp"

namespace magva {

struct Funnel {
  Index neck;                  ///< the parameter
  std::vector<Index> effects;  ///< some of the parameters whose width it decides
  Index count;                 ///< of those that were looked at
  double widening;             ///< log of the factor by which these widen, at the median, for one sd of it
  bool centred() const { return widening > 0; }
};

/// The funnel that costs a Gaussian most, from the third derivatives of the log density at its mean.
std::optional<Funnel> find_funnel(Evaluator& evaluator, const Gaussian& q);

/// What it is, and which other form of the program may help.
std::string describe(const Funnel& funnel, const Model& model);

}  // namespace magva
