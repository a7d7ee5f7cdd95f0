#pragma once
#include <cstdint>

#include "magva/types.hpp"

namespace magva::detail {

/// Whether these are whole numbers from -128 to 127, which go to `to`.
template <class Scalar>
bool to_small_integers(const Scalar* from, Index count, std::int8_t* to) {
  bool exact = true;
  for (Index j = 0; j < count; ++j) {
    // Conversions of what does not fit are undefined.
    const bool fits = from[j] >= -128 && from[j] <= 127;
    to[j] = static_cast<std::int8_t>(fits ? from[j] : 0);
    exact &= fits && static_cast<Scalar>(to[j]) == from[j];
  }
  return exact;
}

}  // namespace magva::detail
