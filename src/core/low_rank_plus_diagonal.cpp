#include "core/low_rank_plus_diagonal.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/panel_kernels.hpp"

namespace magva {

namespace {

/// The weights 1 / d^2 of a panel's rows.
struct PanelPrecisions {
  PanelPrecisions(const double* residual, Range r) {
    for (Index i = 0; i < r.size(); ++i) {
      const double inverse = 1 / residual[r.begin + i];
      values[i] = inverse * inverse;
    }
  }
  double values[kPanelRows];
};

/// body(first, count) for as many columns at a time as the kernel has room for.
template <class Body>
void for_each_column_chunk(Index columns, const TallSkinny& kernel, Body&& body) {
  for (Index first = 0; first < columns; first += kernel.cols())
    body(first, std::min(kernel.cols(), columns - first));
}

}  // namespace

void Capacitance::compute(ConstMatrixRef gram, ConstVectorRef column_scales) {
  const Index p = gram.cols();
  const auto scale = [&](Index j) { return column_scales.size() == 0 ? 1. : column_scales(j); };
  gram_ = gram;
  inverse_.resize(p, p);
  for (Index j = 0; j < p; ++j)
    for (Index i = 0; i < p; ++i) inverse_(i, j) = scale(i) * gram_(i, j) * scale(j) + (i == j ? 1 : 0);
  log_det_ = cholesky(inverse_);
  invert_lower(inverse_);
  half_inverse_.setZero(p, p);
  for (Index j = 0; j < p; ++j)
    for (Index i = j; i < p; ++i) half_inverse_(i, j) = inverse_(i, j) * scale(j);
  lower_gram(inverse_);
  for (Index j = 0; j < p; ++j)
    for (Index i = 0; i < p; ++i) inverse_(i, j) *= scale(i) * scale(j);
}

void precision_weighted_gram(ConstMatrixRef factors, ConstVectorRef residual, MatrixRef out,
                             TallSkinny& kernel) {
  GramSum& sum = kernel.gram_sum();
  sum.start(factors.cols(), factors.cols());
  sweep(factors.rows(), kernel.workers(), [&](Range r, Index task) {
    const PanelPrecisions precisions(residual.data(), r);
    const MutablePanel scaled = kernel.scratch_panel(r, factors.cols(), task);
    detail::scale_rows(panel(factors, r), precisions.values, scaled);
    sum.add_symmetric(panel(factors, r), as_const(scaled), task);
  });
  out = sum.symmetric_total();
}

double LowRankPlusDiagonalView::log_determinant() const {
  return 2 * detail::sum_of_logs(residual_.data(), m()) + capacitance_.log_determinant();
}

void LowRankPlusDiagonalView::times(ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const {
  for_each_column_chunk(v.cols(), kernel, [&](Index first, Index count) {
    const auto from = v.middleCols(first, count);
    auto to = out.middleCols(first, count);
    MatrixRef inner = kernel.small(p(), count);
    if (p() > 0) kernel.gram(factors_, from, inner);
    for (Index j = 0; j < p(); ++j) inner.row(j) *= column_scale(j) * column_scale(j);
    sweep(m(), kernel.workers(), [&](Range r, Index) {
      const auto variance = residual_.segment(r.begin, r.size()).array().square();
      for (Index j = 0; j < count; ++j)  // colwise() would allocate a copy of the variances
        to.col(j).segment(r.begin, r.size()).array() =
            from.col(j).segment(r.begin, r.size()).array() * variance;
      if (p() > 0) detail::multiply(1, panel(factors_, r), inner, 1, mutable_panel(to, r));
    });
  });
}

// out = diag(row_scale) v, then out <- out + D^-2 B T with T = correction(B' out, first column), p x count.
template <class RowScale, class Correction>
void LowRankPlusDiagonalView::correct(ConstMatrixRef v, MatrixRef out, TallSkinny& kernel,
                                      RowScale&& row_scale, Correction&& correction) const {
  for_each_column_chunk(v.cols(), kernel, [&](Index first, Index count) {
    const auto from = v.middleCols(first, count);
    auto to = out.middleCols(first, count);
    GramSum& sum = kernel.gram_sum();
    sum.start(p(), count);
    sweep(m(), kernel.workers(), [&](Range r, Index task) {
      const auto residual = residual_.segment(r.begin, r.size()).array();
      for (Index j = 0; j < count; ++j)
        to.col(j).segment(r.begin, r.size()).array() =
            from.col(j).segment(r.begin, r.size()).array() * row_scale(residual);
      if (p() > 0) sum.add(panel(factors_, r), panel(to, r), task);
    });
    if (p() == 0) return;
    MatrixRef inner = sum.total();
    correction(inner, first);
    sweep(m(), kernel.workers(), [&](Range r, Index task) {
      const PanelPrecisions precisions(residual_.data(), r);
      const MutablePanel product = kernel.scratch_panel(r, count, task);
      detail::multiply(1, panel(factors_, r), inner, 0, product);
      detail::scale_rows(as_const(product), precisions.values, product);
      for (Index j = 0; j < count; ++j)
        to.col(j).segment(r.begin, r.size()) += Scaled(product.col(j), r.size());
    });
  });
}

void LowRankPlusDiagonalView::solve(ConstMatrixRef v, MatrixRef out, TallSkinny& kernel) const {
  correct(
      v, out, kernel, [](const auto& residual) { return residual.square().inverse(); },
      [&](MatrixRef& inner, Index) {
        const Matrix& half = capacitance_.half_inverse();
        MatrixRef halfway = kernel.small(p(), inner.cols());
        halfway.noalias() = half.lazyProduct(inner);
        inner.noalias() = -half.transpose().lazyProduct(halfway);
      });
}

void LowRankPlusDiagonalView::solve_draw(ConstMatrixRef noise, MatrixRef out, TallSkinny& kernel) const {
  // Sigma^-1 (B (s o z) + d o epsilon) = epsilon/d + D^-2 B T,
  // T = s o z - K (H (s o z) + B'(epsilon/d)).
  correct(
      noise.bottomRows(m()), out, kernel, [](const auto& residual) { return residual.inverse(); },
      [&](MatrixRef& inner, Index first) {
        const MatrixRef scaled = scaled_noise(noise.middleCols(first, inner.cols()), kernel);
        inner += capacitance_.gram().lazyProduct(scaled);
        MatrixRef solved = kernel.other_small(p(), inner.cols());
        solved.noalias() = capacitance_.inverse().lazyProduct(inner);
        inner = scaled - solved;
      });
}

void LowRankPlusDiagonalView::draw_inverse(ConstMatrixRef noise, MatrixRef out, TallSkinny& kernel) const {
  // With A = D^-1 B S and A'A = V diag(l) V', the symmetric root of Sigma^-1 = D^-1 (I + A A')^-1 D^-1 gives
  // D^-1 (I + A A')^-1/2 e, where (I + A A')^-1/2 = I - A V diag(w) V' A', w = 1 / (r (1 + r)), r^2 = 1 + l.
  MatrixRef scaled_gram = kernel.small(p(), p());
  for (Index j = 0; j < p(); ++j)
    for (Index i = 0; i < p(); ++i)
      scaled_gram(i, j) = column_scale(i) * capacitance_.gram()(i, j) * column_scale(j);
  const SymmetricEigen& eigen = kernel.eigen(scaled_gram);
  correct(
      noise, out, kernel, [](const auto& residual) { return residual.inverse(); },
      [&](MatrixRef& inner, Index) {
        MatrixRef rotated = kernel.small(p(), inner.cols());
        for (Index j = 0; j < p(); ++j) inner.row(j) *= column_scale(j);
        rotated.noalias() = eigen.vectors().transpose().lazyProduct(inner);
        for (Index j = 0; j < p(); ++j) {
          const double root = std::sqrt(1 + std::max(0., eigen.values()(j)));
          rotated.row(j) *= -1 / (root * (1 + root));
        }
        inner.noalias() = eigen.vectors().lazyProduct(rotated);
        for (Index j = 0; j < p(); ++j) inner.row(j) *= column_scale(j);
      });
}

void LowRankPlusDiagonalView::inverse_diagonal(VectorRef out, TallSkinny& kernel) const {
  MatrixRef half = kernel.small(p(), p());
  half = capacitance_.half_inverse().transpose();
  sweep(m(), kernel.workers(), [&](Range r, Index task) {
    const PanelPrecisions precisions(residual_.data(), r);
    const Scaled weight(precisions.values, r.size());
    auto to = out.segment(r.begin, r.size());
    to = weight;
    if (p() == 0) return;
    const MutablePanel product = kernel.scratch_panel(r, p(), task);
    detail::multiply(1, panel(factors_, r), half, 0, product);
    for (Index j = 0; j < p(); ++j)
      to.array() -= (weight.array() * Scaled(product.col(j), r.size()).array()).square();
  });
}

MatrixRef LowRankPlusDiagonalView::scaled_noise(ConstMatrixRef noise, TallSkinny& kernel) const {
  MatrixRef scaled = kernel.small(p(), noise.cols());
  for (Index j = 0; j < p(); ++j) scaled.row(j) = column_scale(j) * noise.row(j);
  return scaled;
}

void LowRankPlusDiagonalView::draw(ConstMatrixRef noise, MatrixRef out, TallSkinny& kernel) const {
  for_each_column_chunk(noise.cols(), kernel, [&](Index first, Index count) {
    const auto epsilon = noise.block(p(), first, m(), count);
    auto to = out.middleCols(first, count);
    const MatrixRef scaled = scaled_noise(noise.middleCols(first, count), kernel);
    sweep(m(), kernel.workers(), [&](Range r, Index) {
      to.middleRows(r.begin, r.size()).array() = epsilon.middleRows(r.begin, r.size()).array().colwise() *
                                                 residual_.segment(r.begin, r.size()).array();
      if (p() > 0) detail::multiply(1, panel(factors_, r), scaled, 1, mutable_panel(to, r));
    });
  });
}

SerialKernel::SerialKernel(Index m, Index p, Index columns)
    : kernel_(m, std::max<Index>({1, p, std::min<Index>(columns, 32)}), workers_) {}

LowRankPlusDiagonal::LowRankPlusDiagonal(Matrix factors, Vector residual)
    : factors_(std::move(factors)), residual_(std::move(residual)), capacitance_(p()) {
  SerialKernel kernel(m(), p(), p());
  factorize(kernel);
}

LowRankPlusDiagonal::LowRankPlusDiagonal(Matrix factors, Vector residual, TallSkinny& kernel)
    : factors_(std::move(factors)), residual_(std::move(residual)), capacitance_(p()) {
  factorize(kernel);
}

void LowRankPlusDiagonal::assign(ConstMatrixRef factors, ConstVectorRef residual, TallSkinny& kernel) {
  factors_ = factors;
  residual_ = residual;
  factorize(kernel);
}

void LowRankPlusDiagonal::factorize(TallSkinny& kernel) {
  MatrixRef gram = kernel.small(p(), p());
  if (p() > 0) precision_weighted_gram(factors_, residual_, gram, kernel);
  capacitance_.compute(gram);
  log_det_ = view().log_determinant();
}

Matrix LowRankPlusDiagonal::times(ConstMatrixRef v) const {
  Matrix out(m(), v.cols());
  SerialKernel kernel(m(), p(), v.cols());
  view().times(v, out, kernel);
  return out;
}

Matrix LowRankPlusDiagonal::solve(ConstMatrixRef v) const {
  Matrix out(m(), v.cols());
  SerialKernel kernel(m(), p(), v.cols());
  view().solve(v, out, kernel);
  return out;
}

Vector LowRankPlusDiagonal::inverse_diagonal() const {
  Vector out(m());
  SerialKernel kernel(m(), p(), 1);
  view().inverse_diagonal(out, kernel);
  return out;
}

Matrix LowRankPlusDiagonal::draw(ConstMatrixRef noise) const {
  Matrix out(m(), noise.cols());
  SerialKernel kernel(m(), p(), noise.cols());
  view().draw(noise, out, kernel);
  return out;
}

Matrix LowRankPlusDiagonal::draw_inverse(ConstMatrixRef noise) const {
  Matrix out(m(), noise.cols());
  SerialKernel kernel(m(), p(), noise.cols());
  view().draw_inverse(noise, out, kernel);
  return out;
}

}  // namespace magva
