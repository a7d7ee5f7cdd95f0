#pragma once
// Quasi-random draws from a multivariate t distribution: proposals of importance sampling.
#include <cstdint>
#include <vector>

#include "magva/posterior.hpp"

namespace magva::mixed {

/// A t distribution with a Gaussian's location and scale. Its tails are heavier, so that importance weights
/// stay bounded where the posterior's are.
///
/// An sd that may be zero has a density that does not vanish there, so that its logarithm has a long tail on
/// one side, which no t distribution follows without spreading everything else. The square root of such an sd
/// has none: it is proposed by a t distribution that is folded at zero.
class StudentT {
 public:
  /// `log_sds`: coordinates that are logarithms of sds. Those that the Gaussian knows little of are folded.
  explicit StudentT(const Gaussian& gaussian, const std::vector<Index>& log_sds = {});

  Index dimension() const { return mean_.size(); }
  /// `count` points, an even number, one column each, of a lattice with a random shift (Richtmyer 1951;
  /// Cranley & Patterson 1976), in antithetic pairs: means of nearly linear functions have nearly no error.
  Matrix draws(Index count, std::uint64_t seed) const;
  /// Normalised log densities of the columns of theta.
  Vector log_density(ConstMatrixRef theta) const;

 private:
  /// With the square roots of folded sds in place of their logarithms.
  Matrix with_roots(ConstMatrixRef theta) const;

  Vector mean_;
  Matrix factor_;              // lower triangular, of the scale matrix
  std::vector<Index> folded_;  // coordinates
  int half_nu_;                // half of the degrees of freedom
  double log_constant_;
};

/// The chi-square quantile of 2 k degrees of freedom.
double chi_square_quantile(double probability, int k);

}  // namespace magva::mixed
