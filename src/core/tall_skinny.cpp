#include "core/tall_skinny.hpp"

#include <algorithm>

#include "core/panel_kernels.hpp"

namespace magva {

TallSkinny::TallSkinny(Index rows, Index cols, Workers& workers)
    : workers_(workers),
      sum_(rows, cols, cols),
      panels_(kPanelRows * cols, row_tasks(rows)),
      prefetch_(static_cast<std::size_t>(row_tasks(rows)), PrefetchQueue(4 * cols + 32)),
      small_(cols, cols),
      gram_(cols, cols),
      root_(cols, cols),
      eigen_scratch_(cols, cols),
      eigen_(cols),
      newton_(cols) {}

void TallSkinny::gram(ConstMatrixRef a, ConstMatrixRef b, MatrixRef out) {
  sum_.start(a.cols(), b.cols());
  sweep(a.rows(), workers_, [&](Range r, Index task) { sum_.add(panel(a, r), panel(b, r), task); });
  out = sum_.total();
}

void TallSkinny::weighted_gram(ConstMatrixRef a, ConstVectorRef w, MatrixRef out) {
  sum_.start(a.cols(), a.cols());
  sweep(a.rows(), workers_, [&](Range r, Index task) {
    const MutablePanel scaled = scratch_panel(r, a.cols(), task);
    detail::scale_rows(panel(a, r), w.data() + r.begin, scaled);
    sum_.add_symmetric(panel(a, r), as_const(scaled), task);
  });
  out = sum_.symmetric_total();
}

void TallSkinny::multiply(double alpha, ConstMatrixRef a, ConstMatrixRef small, double beta, MatrixRef out) {
  const bool in_place = out.data() == a.data();
  sweep(a.rows(), workers_, [&](Range r, Index task) {
    const MutablePanel target = mutable_panel(out, r);
    if (!in_place) return detail::multiply(alpha, panel(a, r), small, beta, target);
    const MutablePanel copy = scratch_panel(r, a.cols(), task);
    for (Index j = 0; j < a.cols(); ++j) std::copy_n(target.col(j), r.size(), copy.col(j));
    detail::multiply(alpha, as_const(copy), small, beta, target);
  });
}

const SymmetricEigen& TallSkinny::eigen(ConstMatrixRef symmetric) {
  eigen_.compute(symmetric);
  return eigen_;
}

bool TallSkinny::inverse_root(ConstMatrixRef gram, MatrixRef out) {
  const Index p = gram.rows();
  auto scaled = eigen_scratch_.topLeftCorner(p, p);
  if (newton_.compute(gram, out)) return false;
  const SymmetricEigen& solved = eigen(gram);
  scaled =
      solved.vectors() *
      solved.values().cwiseMax(std::numeric_limits<double>::min()).cwiseSqrt().cwiseInverse().asDiagonal();
  out.noalias() = scaled.lazyProduct(solved.vectors().transpose());
  constexpr double kLossy = 1e4;
  return solved.values()(p - 1) > kLossy * solved.values()(0);
}

void TallSkinny::polar(ConstMatrixRef a, MatrixRef out) {
  const Index p = a.cols();
  if (p == 0) return;
  auto g = gram_.topLeftCorner(p, p);
  auto root = root_.topLeftCorner(p, p);
  // Huge steps must not overflow the Gram matrix; the polar factor does not depend on the scale.
  const double largest = a.cwiseAbs().maxCoeff();
  const double scale = largest > 1e100 ? 1 / largest : 1;
  if (out.data() != a.data() || scale != 1) out = scale * a;
  // The Gram matrix squares the condition number: where that has cost digits, another pass restores them.
  constexpr int kMaxPasses = 4;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    gram(out, out, g);
    const bool lossy = inverse_root(g, root);
    multiply(1, out, root, 0, out);
    if (!lossy) return;
  }
}

void TallSkinny::polar(ConstMatrixRef a, ConstMatrixRef gram, MatrixRef out) {
  constexpr double kHuge = 1e200;
  const Index p = a.cols();
  if (!(gram.diagonal().maxCoeff() < kHuge)) return polar(a, out);
  auto root = root_.topLeftCorner(p, p);
  const bool lossy = inverse_root(gram, root);
  multiply(1, a, root, 0, out);
  if (lossy) polar(out, out);
}

}  // namespace magva
