#pragma once
// Where the hyper-parameters are around each node of a design: weight, mean and covariance of a component of
// the mixture.
#include <vector>

#include "magva/types.hpp"

namespace magva {

struct HyperCell {
  double weight = 0;
  double effective = 0;  ///< draws behind these
  Vector mean;
  Matrix covariance;
};

/// Of places, one column each, of which cell j has the share `mass(j, s)` of all weight.
std::vector<HyperCell> cells_of(const Matrix& places, const Matrix& mass);

/// Of the mixture of normal distributions that these are, at places.
Vector log_density(const std::vector<HyperCell>& cells, const Matrix& places);

/// A cell with few draws has a covariance between its own and that within all cells.
std::vector<HyperCell> with_pooled_covariance(std::vector<HyperCell> cells);

/// A step of population Monte Carlo (Cappe, Douc, Guillin, Marin and Robert 2008): what weighted draws of the
/// mixture say of its cells, `found`, with as much of what was known as keeps their noise out.
std::vector<HyperCell> updated_cells(const std::vector<HyperCell>& before,
                                     const std::vector<HyperCell>& found, double effective_draws);

}  // namespace magva
