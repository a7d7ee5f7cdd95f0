#pragma once
// The diagonal of a matrix R that is known by its products alone, near a covariance Sigma that is known: with
// random signs z, Sigma_ii + z_i ((R - Sigma) z)_i has the mean R_ii (Hutchinson 1990; Bekas, Kokiopoulou and
// Saad 2007) and the variance sum_j ((R - Sigma)_ij)^2 over the other j. So it is the better the nearer Sigma
// is.
#include <cstdint>
#include <functional>
#include <optional>

#include "magva/posterior.hpp"

namespace magva {

struct DiagonalEstimate {
  Vector value;
  Vector se;  ///< from the spread of the probes
};

/// R times a vector; nothing where there is none.
using MatrixProduct = std::function<std::optional<Vector>(const Vector&)>;

class DiagonalEstimator {
 public:
  DiagonalEstimator(const Gaussian& q, MatrixProduct product, std::uint64_t seed);

  /// So many more probes; false where a product failed.
  bool add_probes(Index count);
  Index probes() const { return probes_; }
  /// From two probes on.
  DiagonalEstimate estimate() const;

 private:
  const Gaussian& q_;
  MatrixProduct product_;
  std::uint64_t seed_;
  Index probes_ = 0;
  Vector sum_, squares_;  // of z_i ((R - Sigma) z)_i
};

}  // namespace magva
