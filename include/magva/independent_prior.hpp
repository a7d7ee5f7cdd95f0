#pragma once
// Independent priors of the coefficients, each with a location and a scale of its own.
#include <limits>

#include "magva/types.hpp"

namespace magva {

/// beta_j ~ Student-t(degrees_of_freedom_j, location_j, scale_j); infinite degrees of freedom: normal.
struct IndependentPriors {
  Vector location;
  Vector scale;
  Vector degrees_of_freedom;  ///< empty: all normal

  Index size() const { return location.size(); }
  double degrees(Index j) const {
    return degrees_of_freedom.size() > 0 ? degrees_of_freedom(j) : std::numeric_limits<double>::infinity();
  }
};

}  // namespace magva
