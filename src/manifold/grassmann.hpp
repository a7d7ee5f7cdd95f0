#pragma once
#include "manifold/stiefel.hpp"

namespace magva {

/// Subspaces, each represented by a matrix with orthonormal columns (the paper's Table 2).
struct Grassmann {
  static constexpr const char* name = "grassmann";
  static constexpr Geometry geometry = Geometry::kOrthonormal;
  void normal_part(MatrixRef, ConstMatrixRef, TallSkinny&) const {}
  /// (I - BB')Z
  void project(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const;
  void retract(ConstMatrixRef x, ConstMatrixRef u, MatrixRef out, TallSkinny& kernel) const {
    Stiefel{}.retract(x, u, out, kernel);
  }
  void transport(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const {
    project(x, v, out, kernel);
  }
  Matrix random_point(Index rows, Index cols, std::uint64_t seed) const {
    return Stiefel{}.random_point(rows, cols, seed);
  }
  double violation(ConstMatrixRef x, TallSkinny& kernel) const { return Stiefel{}.violation(x, kernel); }
};

}  // namespace magva
