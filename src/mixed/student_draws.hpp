#pragma once
// Quasi-random draws from a multivariate t distribution: proposals of importance sampling.
#include <cstdint>

#include "magva/posterior.hpp"

namespace magva::mixed {

/// A t distribution with a Gaussian's location and scale. Its tails are heavier, so that importance weights
/// stay bounded where the posterior's are, as those of a log sd near zero.
class StudentT {
 public:
  explicit StudentT(const Gaussian& gaussian);

  Index dimension() const { return gaussian_.dimension(); }
  /// `count` points, an even number, one column each, of a lattice with a random shift (Richtmyer 1951;
  /// Cranley & Patterson 1976), in antithetic pairs: means of nearly linear functions have nearly no error.
  Matrix draws(Index count, std::uint64_t seed) const;
  /// Normalised log densities of the columns of theta.
  Vector log_density(ConstMatrixRef theta) const;

 private:
  Gaussian gaussian_;
  Matrix factor_;  // lower triangular, of the scale matrix
  int half_nu_;    // half of the degrees of freedom
  double log_constant_;
};

/// The chi-square quantile of 2 k degrees of freedom.
double chi_square_quantile(double probability, int k);

}  // namespace magva::mixed
