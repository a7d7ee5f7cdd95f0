#pragma once
// Flat spaces: all m x p matrices, and those whose strictly upper part is zero.
#include "manifold/manifold.hpp"

namespace magva {

/// All m x p matrices. Projection is the identity, so that a rule reduces to its ordinary Euclidean form.
struct Euclidean {
  static constexpr const char* name = "euclidean";
  static constexpr Geometry geometry = Geometry::kFlat;
  void project_panel(const MutablePanel&, Range) const {}
  void project(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const;
  void retract(ConstMatrixRef x, ConstMatrixRef u, MatrixRef out, TallSkinny& kernel) const;
  void transport(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const {
    project(x, v, out, kernel);
  }
  Matrix random_point(Index rows, Index cols, std::uint64_t seed) const;
  double violation(ConstMatrixRef, TallSkinny&) const { return 0; }
};

/// Lower trapezoidal matrices: the factors of VAFC (Ong, Nott & Smith 2018), and Cholesky factors when m = p.
struct LowerTrapezoidal {
  static constexpr const char* name = "lower-trapezoidal";
  static constexpr Geometry geometry = Geometry::kFlat;
  void project_panel(const MutablePanel& v, Range rows) const;
  void project(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const;
  void retract(ConstMatrixRef x, ConstMatrixRef u, MatrixRef out, TallSkinny& kernel) const;
  void transport(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const {
    project(x, v, out, kernel);
  }
  Matrix random_point(Index rows, Index cols, std::uint64_t seed) const;
  double violation(ConstMatrixRef x, TallSkinny& kernel) const;
};

}  // namespace magva
