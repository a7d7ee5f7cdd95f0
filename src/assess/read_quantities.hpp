#pragma once
// The quantities that will be read, beside what a Gaussian says of them. The exponential of a coordinate may
// have most of its variance where the coordinate itself has next to no mass.
#include "magva/fit.hpp"
#include "magva/posterior.hpp"

namespace magva {

class ReadQuantities {
 public:
  /// Means and sds by a few hundred draws of q: only their size matters.
  ReadQuantities(const Quantities& quantities, const Gaussian& q, std::uint64_t seed);

  /// What more a point z sds out counts for the variance of the quantity for which it counts most than for
  /// that of a coordinate: the logarithm of its squared deviation from its mean, in its sds, over z^2; 0 if
  /// that is less.
  double log_stretch(ConstVectorRef theta, double z) const;

 private:
  const Quantities& quantities_;
  Vector mean_, sd_;
};

}  // namespace magva
