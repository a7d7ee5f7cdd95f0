#pragma once
// The projection of a matrix onto a tangent space, taken apart so that sweeps over panels can do other work
// in between: one sweep measures x'v, the p x p problem is solved, the next sweep subtracts x S.
#include "manifold/manifold.hpp"

namespace magva {

template <Manifold M>
class Tangent {
 public:
  Tangent(Index rows, Index cols)
      : inner_(kFlat ? 0 : rows, kFlat ? 0 : cols, kFlat ? 0 : cols),
        gram_(kNeedsGram ? rows : 0, kNeedsGram ? cols : 0, kNeedsGram ? cols : 0) {}

  void start(Index cols) {
    if constexpr (!kFlat) inner_.start(cols, cols);
    if constexpr (kNeedsGram) gram_.start(cols, cols);
  }
  void measure(const Panel& x, const Panel& v, Index task) {
    if constexpr (!kFlat) inner_.add(x, v, task);
    if constexpr (kNeedsGram) gram_.add_symmetric(x, x, task);
  }
  void solve(TallSkinny& kernel) {
    if constexpr (kFlat) return;
    MatrixRef inner = inner_.total();
    if constexpr (kNeedsGram)
      M{}.normal_part(inner, gram_.symmetric_total(), kernel);
    else if constexpr (!kFlat)
      M{}.normal_part(inner, inner, kernel);
  }
  /// v <- v - x S for these rows.
  void project(const Panel& x, const MutablePanel& v, Range rows) const {
    if constexpr (kFlat)
      M{}.project_panel(v, rows);
    else
      inner_.subtract_product(x, v);
  }

 private:
  static constexpr bool kFlat = M::geometry == Geometry::kFlat;
  static constexpr bool kNeedsGram = M::geometry == Geometry::kFullColumnRank;

  GramSum inner_;
  GramSum gram_;
};

}  // namespace magva
