#pragma once
// What Lanczos iteration tells of a curvature A too large to be stored. In the coordinates in which a given
// Sigma is the identity, A = V L V' in the directions that were found; elsewhere its eigenvalues are taken to
// be 1, as they would be if Sigma were A^-1. A bound, which makes steps safe, takes them to be as large as
// the largest that a second iteration finds there: the first sees one vector of each eigenspace, and of a
// cluster of eigenvalues only some.
#include <functional>

#include "core/low_rank_plus_diagonal.hpp"

namespace magva {

/// A vector's product with a symmetric matrix: one column, or two independent estimates.
using Product = std::function<Matrix(ConstVectorRef)>;

/// Vectors v in pairs z = Sigma^1/2 v, u = Sigma^-1/2 v, a column each: no root is needed.
struct DualVectors {
  Matrix z;
  Matrix u;
};

/// Of Lanczos iteration for Sigma^1/2 A Sigma^1/2.
struct RitzPairs {
  Vector values;  ///< ascending
  Vector errors;  ///< bounds: some eigenvalue is as near
  Vector noise;   ///< standard errors, where products are noisy
  DualVectors vectors;
};
/// Starts from `first`, a gradient, and stays orthogonal to what is known.
RitzPairs lanczos(const Product& curvature_times, const LowRankPlusDiagonal& sigma, const DualVectors& known,
                  Vector first, Index steps);

class SketchedCurvature {
 public:
  /// `first`: two gradients to start from.
  SketchedCurvature(LowRankPlusDiagonal sigma, const Product& curvature_times, ConstMatrixRef first);

  /// (A - Sigma^-1) x, and the diagonal of A - Sigma^-1: what A has beyond a Sigma^-1 that moves on.
  Matrix excess_times(ConstMatrixRef x) const;
  Vector excess_diagonal() const;
  /// The bound's product with x, and the solution for a right-hand side.
  Matrix bound_times(ConstMatrixRef x) const;
  Vector bound_solve(ConstVectorRef g) const { return solve(g, rest_); }
  /// The same where the eigenvalues of all other directions are as low as 1.
  Vector lowest_solve(ConstVectorRef g) const { return solve(g, 1); }
  /// The part of gradients in the directions that were found.
  Matrix known_part(ConstMatrixRef gradients) const { return found_.u * (found_.z.transpose() * gradients); }

 private:
  Vector solve(ConstVectorRef g, double rest) const;

  LowRankPlusDiagonal sigma_;
  DualVectors found_;
  Vector values_;
  Vector bounds_;    // their sizes, and what their noise may add
  double rest_ = 1;  // about the largest eigenvalue of those that were not found
};

}  // namespace magva
