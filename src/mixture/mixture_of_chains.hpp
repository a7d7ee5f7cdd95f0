#pragma once
// What draws of chains look like where no Gaussian with margins of its own does: a mixture of the Gaussians
// of some cells of them.
#include <memory>

#include "mixture/gaussian_mixture.hpp"

namespace magva {

/// Of draws, one a column, in `chains` groups of as many successive columns, each of one chain. A cell is
/// parted where one coordinate changes the means and the variances of the others most, by what two halves of
/// the chains agree in, while there are draws enough for the covariances of both parts. The mean and the
/// covariance of the mixture are those of the draws. Null where no coordinate does so. Works with dense
/// matrices.
std::shared_ptr<const GaussianMixture> mixture_of_chains(const Gaussian& near, const Matrix& draws,
                                                         Index chains);

/// So many draws are enough for cells.
Index draws_of_cells(Index dimension);

}  // namespace magva
