#pragma once
// The covariance that draws of short chains have, as far as they know it.
#include <vector>

#include "magva/posterior.hpp"

namespace magva {

/// Which chain each column is of, if all have as many successive ones.
std::vector<Index> chain_of_columns(Index columns, Index chains);

/// The Gaussian with that mean and the covariance of the draws, one a column, around it. In the coordinates
/// in which `near` has the identity as its covariance some chains choose the axes, and others, which know
/// nothing of the first ones' noise, the variances along them (Lam 2016). Works with dense matrices.
Gaussian gaussian_of_chains(const Gaussian& near, Vector mean, const Matrix& draws,
                            const std::vector<Index>& chain);

}  // namespace magva
