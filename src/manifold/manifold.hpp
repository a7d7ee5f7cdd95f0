#pragma once
// What the update rules need to know of a manifold of m x p matrices.
#include <concepts>
#include <cstdint>

#include "core/tall_skinny.hpp"

namespace magva {

/// How a manifold lets a sweep over panels do its work.
enum class Geometry {
  kFlat,         ///< project_panel(v, rows) projects these rows of v, whatever x; x + u retracts
  kOrthonormal,  ///< v - x S projects, where normal_part turns x'v into S; the polar factor of x + u retracts
  kFullColumnRank  ///< as before, but normal_part also needs x'x; x + u retracts
};

/// The contract, for a point x and any matrix v of its shape:
///  - project(x, v, out): the orthogonal projection of v onto the tangent space at x; `out` may be v;
///  - retract(x, u, out): a point of the manifold, x + u to first order for a tangent u; `out` may be x;
///  - transport(x, v, out): brings v, tangent elsewhere, into the tangent space at x; `out` may be v;
///  - random_point(rows, cols, seed): a point of the manifold;
///  - violation(x): 0 on the manifold, up to rounding.
/// `kernel` brings scratch memory and threads; nothing but random_point allocates.
template <class M>
concept Manifold = requires(const M m, ConstMatrixRef x, ConstMatrixRef v, MatrixRef out,
                            TallSkinny& kernel) {
  m.project(x, v, out, kernel);
  m.retract(x, v, out, kernel);
  m.transport(x, v, out, kernel);
  { m.random_point(Index{}, Index{}, std::uint64_t{}) } -> std::same_as<Matrix>;
  { m.violation(x, kernel) } -> std::same_as<double>;
  { M::name } -> std::convertible_to<const char*>;
  { M::geometry } -> std::convertible_to<Geometry>;
};

}  // namespace magva
