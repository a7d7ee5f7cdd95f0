#include "manifold/tangent_step.hpp"

#include "core/panel_kernels.hpp"

namespace magva {

namespace {

/// left <- I - scale left
void subtract_from_identity(double scale, MatrixRef left) {
  left *= -scale;
  left.diagonal().array() += 1;
}

/// out = A B and out = A' B, all p x p.
void multiply_small(ConstMatrixRef a, ConstMatrixRef b, MatrixRef out) {
  const Range all{0, a.rows()};
  detail::multiply(1, panel(a, all), b, 0, mutable_panel(out, all));
}
void multiply_transposed(ConstMatrixRef a, ConstMatrixRef b, Matrix& out) {
  const Range all{0, a.rows()};
  PrefetchQueue none;
  out.setZero();
  detail::add_gram(panel(a, all), panel(b, all), out.data(), none);
}

}  // namespace

bool plain_coefficients(double scale, MatrixRef left, MatrixRef right) {
  subtract_from_identity(scale, left);
  right.setIdentity();
  right *= scale;
  return left.allFinite();
}

// With A = I - scale S the Gram matrix of x A + scale v is A'(x'x A + scale x'v) + scale (v'x A + scale v'v).
bool polar_coefficients(double scale, ConstMatrixRef of_x, ConstMatrixRef x_with_v, ConstMatrixRef of_v,
                        Matrix& left, Matrix& right, Matrix& gram, TallSkinny& kernel) {
  // The sums' rounding errors are relative to v'v, while the Gram matrix is hardly below the identity.
  constexpr double kLongest = 1e3;
  if (!(scale * scale * of_v.diagonal().maxCoeff() < kLongest)) return false;
  subtract_from_identity(scale, left);
  Matrix& part = right;
  multiply_small(of_x, left, part);
  part += scale * x_with_v;
  multiply_transposed(left, part, gram);
  multiply_transposed(x_with_v, left, part);
  part += scale * of_v;
  gram += scale * part;
  const bool lossy = kernel.inverse_root(gram, right);
  gram = left;
  multiply_small(gram, right, left);
  right *= scale;
  return !lossy && left.allFinite();
}

}  // namespace magva
