#pragma once
// What Lanczos iteration tells of a curvature A too large to be stored. In the coordinates in which a given
// Sigma is the identity, the eigenvalues of A that were found have converged, so that A = V L V' there, and
// all others are taken to be 1, as they would be if Sigma were A^-1. A bound, which makes steps safe, takes
// them to be as large as the largest one that has not converged.
#include <functional>

#include "factor_matrix.hpp"

namespace magva {

/// A vector's product with a symmetric matrix: one column, or two independent estimates.
using Product = std::function<Matrix(ConstVectorRef)>;

/// Of Lanczos iteration for Sigma^1/2 A Sigma^1/2, without the root: z = Sigma^1/2 v, u = Sigma^-1/2 v.
struct RitzPairs {
  Vector values;  ///< ascending
  Vector errors;  ///< bounds: some eigenvalue is as near
  Vector noise;   ///< standard errors, where products are noisy
  Matrix z;       ///< a column each
  Matrix u;
};
/// Starts from `first`, a gradient.
RitzPairs lanczos(const Product& curvature_times, const FactorMatrix& sigma, Vector first, Index steps);

class SketchedCurvature {
 public:
  SketchedCurvature(FactorMatrix sigma, const Product& curvature_times, Vector first);

  /// A x, and the diagonal of A.
  Matrix times(ConstMatrixRef x) const;
  Vector diagonal() const;
  /// The bound's product with x, and the solution for a right-hand side.
  Matrix bound_times(ConstMatrixRef x) const;
  Vector bound_solve(ConstVectorRef g) const;

 private:
  FactorMatrix sigma_;
  Matrix z_, u_;
  Vector values_;
  Vector bounds_;    // their sizes, and what their noise may add
  double rest_ = 1;  // the largest eigenvalue, perhaps, of those that were not found
};

}  // namespace magva
