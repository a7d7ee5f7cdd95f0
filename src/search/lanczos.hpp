#pragma once
// Lanczos iteration for eigenvalues of a curvature A in the coordinates in which a given Sigma is the
// identity.
#include <functional>

#include "core/low_rank_plus_diagonal.hpp"

namespace magva {

/// An eigenvalue has been found where its error is below this share of it.
inline constexpr double kRitzError = .2;

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

}  // namespace magva
