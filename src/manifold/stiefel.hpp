#pragma once
#include "manifold/manifold.hpp"

namespace magva {

/// Matrices with orthonormal columns, B'B = I (the paper's Table 1).
struct Stiefel {
  static constexpr const char* name = "stiefel";
  static constexpr Geometry geometry = Geometry::kOrthonormal;
  void normal_part(MatrixRef inner, ConstMatrixRef gram, TallSkinny& kernel) const;
  /// Z - B sym(B'Z)
  void project(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const;
  /// (B + U)(I + U'U)^(-1/2), which is the polar factor of B + U. Computed from the Gram matrix of B + U
  /// itself: the printed form assumes B'B = I and U tangent exactly, and drifts.
  void retract(ConstMatrixRef x, ConstMatrixRef u, MatrixRef out, TallSkinny& kernel) const;
  void transport(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const {
    project(x, v, out, kernel);
  }
  Matrix random_point(Index rows, Index cols, std::uint64_t seed) const;
  /// The Frobenius norm of B'B - I.
  double violation(ConstMatrixRef x, TallSkinny& kernel) const;
};

}  // namespace magva
