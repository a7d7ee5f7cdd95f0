#pragma once
// Noise whose second moments are exactly those of N(0, I).
#include <cstdint>

#include "magva/types.hpp"

namespace magva {

/// One column per draw. With at least as many draws as dimensions the mean of z z' is the identity, so that
/// what is linear in z is integrated without error; with fewer the noise is as it is.
Matrix balanced_noise(Index dimension, Index draws, std::uint64_t seed);

}  // namespace magva
