#pragma once
// Which derivatives depend on which coordinates, where there are too many coordinates to move one by one.
//
// Coordinates are moved in random groups. A derivative that depends on few of them changes with few of the
// groups, and what is in one of these groups for each of several partitions is, but for a few coincidences,
// what it depends on. Coordinates on which many derivatives depend, such as a scale of all effects, are found
// first and moved alone.
#include <cstdint>
#include <vector>

#include "core/evaluator.hpp"

namespace magva {

/// For every coordinate, the derivatives that change with it, its own among them; a few may be listed in
/// vain. Empty where a gradient is not finite, or where too many change. `gradient`: at `at`; `scale`: how
/// far coordinates are moved, roughly.
std::vector<std::vector<Index>> probe_in_groups(Evaluator& evaluator, ConstVectorRef at,
                                                ConstVectorRef gradient, ConstVectorRef scale,
                                                std::uint64_t seed);

/// A derivative that changes by less, relative to itself, has not changed: sums may be rounded otherwise.
inline constexpr double kRounding = 1e-13;

}  // namespace magva
