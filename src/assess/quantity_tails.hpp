#pragma once
// Quantities whose variance comes from a tail that has next to no mass. The exponential of a coordinate that
// falls like exp(-2 theta) has no variance at all: no draw shows that, nor any check of the coordinate
// itself.
#include <cstdint>
#include <vector>

#include "core/evaluator.hpp"
#include "magva/fit.hpp"

namespace magva {

struct TailOptions {
  std::uint64_t seed = 1;
  std::int64_t gradients = 0;  ///< at most, about
};

/// Those of which a quarter of the variance, and more, lies where the approximation has none of it, so that
/// its sd is too small by a factor of 1.4 at least. `approximation.best()` is what is read; its Gaussian has
/// the coordinates. Looks along the paths of conditional modes of those on which a quantity grows faster than
/// they do.
std::vector<Doubt> find_long_tails(Evaluator& evaluator, const Gaussian& approximation,
                                   const Quantities& quantities, const TailOptions& options);

}  // namespace magva
