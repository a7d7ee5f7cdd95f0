#pragma once
// What the update rules need to know of a manifold of m x p matrices.
#include <concepts>
#include <cstdint>

#include "magva/tall_skinny.hpp"

namespace magva {

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
};

}  // namespace magva
