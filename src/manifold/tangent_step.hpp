#pragma once
// The last part of every rule on a curved manifold, x <- R_x(scale P_x(v)), in two sweeps over panels. The
// tangent step is U = v - x S, so that x + scale U = x A + scale v with A = I - scale S; and where the polar
// factor of that retracts, its Gram matrix follows from x'x, x'v and v'v. So one sweep measures these, and
// the next writes x L + v R with small L and R: neither U nor x + scale U is ever stored.
#include "manifold/manifold.hpp"

namespace magva {

/// Where x + scale (v - x S) is to be retracted by its polar factor, x L + v R. Takes S in `left`; false
/// where the sums are not finite, or v is so long that they tell too little of that Gram matrix.
bool polar_coefficients(double scale, ConstMatrixRef of_x, ConstMatrixRef x_with_v, ConstMatrixRef of_v,
                        Matrix& left, Matrix& right, Matrix& scratch, TallSkinny& kernel);
/// Where x + scale (v - x S) is the next point. Takes S in `left`; false if it is not finite.
bool plain_coefficients(double scale, MatrixRef left, MatrixRef right);

template <Manifold M>
class TangentStep {
 public:
  TangentStep(Index rows, Index cols)
      : of_x_(kFlat ? 0 : rows, kFlat ? 0 : cols, kFlat ? 0 : cols),
        inner_(kFlat ? 0 : rows, kFlat ? 0 : cols, kFlat ? 0 : cols),
        of_v_(kPolar ? rows : 0, kPolar ? cols : 0, kPolar ? cols : 0),
        x_with_v_(kPolar ? cols : 0, kPolar ? cols : 0),
        left_(kFlat ? 0 : cols, kFlat ? 0 : cols),
        right_(kFlat ? 0 : cols, kFlat ? 0 : cols),
        gram_(kPolar ? cols : 0, kPolar ? cols : 0) {}

  void start(Index cols) {
    of_x_.start(cols, cols);
    inner_.start(cols, cols);
    if constexpr (kPolar) of_v_.start(cols, cols);
  }

  void measure(const Panel& x, const Panel& v, Index task, PrefetchQueue& prefetch) {
    of_x_.add_symmetric(x, x, task, prefetch);
    inner_.add(x, v, task, prefetch);
    if constexpr (kPolar) of_v_.add_symmetric(v, v, task, prefetch);
  }

  /// False if combine() would not give the next point: then project() and the manifold's own retraction
  /// do.
  bool solve(double scale, TallSkinny& kernel) {
    const MatrixRef of_x = of_x_.symmetric_total();
    const MatrixRef inner = inner_.total();
    if constexpr (kPolar) x_with_v_ = inner;
    M{}.normal_part(inner, of_x, kernel);
    left_ = inner;
    if constexpr (kPolar)
      return polar_coefficients(scale, of_x, x_with_v_, of_v_.symmetric_total(), left_, right_, gram_,
                                kernel);
    else
      return plain_coefficients(scale, left_, right_);
  }

  /// v <- v - x S for these rows.
  void project(const Panel& x, const MutablePanel& v, Range rows) const {
    if constexpr (kFlat)
      M{}.project_panel(v, rows);
    else
      inner_.subtract_product(x, v);
  }

  /// x <- x L + v R for these rows. `scratch` has the panel's shape.
  void combine(const MutablePanel& x, const Panel& v, const MutablePanel& scratch,
               PrefetchQueue& prefetch) const {
    magva::combine(x, left_, v, right_, scratch, prefetch);
  }

 private:
  static constexpr bool kFlat = M::geometry == Geometry::kFlat;
  static constexpr bool kPolar = M::geometry == Geometry::kOrthonormal;

  GramSum of_x_, inner_, of_v_;
  Matrix x_with_v_, left_, right_, gram_;
};

}  // namespace magva
