#pragma once
// Standard normal noise whose coordinates are spread evenly over all draws.
#include <cstdint>

#include "magva/types.hpp"

namespace magva::mixed {

/// Latin hypercube sampling (McKay, Beckman & Conover 1979): of `draws` strata of equal probability each
/// coordinate visits every one once, in an order of its own, so that means and variances over all draws are
/// nearly those of the normal distribution. Each number is a function of seed, draw and coordinate alone.
class StratifiedNormals {
 public:
  StratifiedNormals(std::uint64_t seed, Index draws);
  /// All coordinates of a draw.
  void fill(Index draw, VectorRef out) const;

 private:
  /// Within the stratum; linear but for the outermost ones.
  double quantile(std::uint32_t stratum, double share) const;

  std::uint64_t seed_;
  std::uint32_t draws_;
  Vector edges_;  // of the strata; the outermost are infinite
};

}  // namespace magva::mixed
