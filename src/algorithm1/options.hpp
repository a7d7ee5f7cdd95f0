#pragma once
// All that a Fitter needs to know: Algorithm 1's options and those that it shares with other ways of fitting.
#include <limits>

#include "family/family.hpp"
#include "magva/algorithm1.hpp"

namespace magva {

struct FitterOptions : Algorithm1Options {
  Index rank = kAlgorithm1Rank;
  std::uint64_t seed = 1;
  int threads = 1;
  std::int64_t max_iterations = kAlgorithm1Iterations;
  double time_limit = std::numeric_limits<double>::infinity();  ///< seconds

  /// Every fault at once, each as 'field is value and must be rule'; empty if all is well.
  std::vector<std::string> validate(Index dimension) const;
  FamilyOptions family_options() const {
    return {family, rank, scales, initial_factor_scale, initial_residual_scale};
  }
};

}  // namespace magva
