#pragma once
// A Gaussian some of whose covariances are known better than it has them.
#include <vector>

#include "magva/posterior.hpp"

namespace magva {

/// q with the joint distribution of some coordinates, and how all others depend on them, from these columns
/// of a covariance; given these coordinates, the others vary as under q.
Gaussian with_covariance_columns(const Gaussian& q, const std::vector<Index>& coordinates,
                                 const Matrix& columns);

}  // namespace magva
