#pragma once
#include "manifold/manifold.hpp"

namespace magva {

/// Positive semidefinite matrices BB' of rank p: full-column-rank B up to rotation, the quotient geometry of
/// Journee, Bach, Absil & Sepulchre (2010). The manifold is not complete (the paper's Remark 1): steps can
/// run into rank-deficient matrices, and the paper shows that they do.
struct FixedRank {
  static constexpr const char* name = "fixed-rank";
  static constexpr Geometry geometry = Geometry::kFullColumnRank;
  void normal_part(MatrixRef inner, ConstMatrixRef gram, TallSkinny& kernel) const;
  /// Onto the horizontal space {U : B'U symmetric}: Z - B Omega with the skew Omega that solves
  /// Omega B'B + B'B Omega = B'Z - Z'B.
  void project(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const;
  /// B + U
  void retract(ConstMatrixRef x, ConstMatrixRef u, MatrixRef out, TallSkinny& kernel) const;
  void transport(ConstMatrixRef x, ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const {
    project(x, v, out, kernel);
  }
  Matrix random_point(Index rows, Index cols, std::uint64_t seed) const;
  /// 0 if the columns are numerically independent, 1 if they are not.
  double violation(ConstMatrixRef x, TallSkinny& kernel) const;
};

}  // namespace magva
