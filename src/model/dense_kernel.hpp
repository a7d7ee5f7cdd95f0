#pragma once
// Products with dense rows. A tile of rows and draws is held in registers, so that each number of the design
// is loaded once per tile of draws. Every sum is formed in one order, whatever the tile: over columns in one
// pack of accumulators per (row, draw), over rows one after the other.
//
// Columns beyond a multiple of the pack's width are taken as one more pack that ends at the last column: it
// overlaps the pack before it, and the packed coefficients have zeros where it does.
#include <algorithm>

#include "design_kernel.hpp"
#include "pack.hpp"

namespace magva::detail {

template <class Scalar, class P>
class DenseKernel final : public DesignKernel {
 public:
  DenseKernel(DenseRows<Scalar> x, const Design& design)
      : DesignKernel(design), x_(x), whole_(x.cols / kWidth<P> * kWidth<P>), column_(padded(x.cols)) {}

  Index block_rows() const override {
    constexpr Index kBlockBytes = 16384;  // half of a first-level cache
    const Index row_bytes = std::max<Index>(1, x_.cols * static_cast<Index>(sizeof(Scalar)));
    return std::clamp<Index>(kBlockBytes / row_bytes / kPadding, 1, 16) * kPadding;
  }

  Index packed_size(Index draws) const override { return column_ * draws; }

  void pack(const double* coefficients, Index draw, Index, double* packed) const override {
    double* column = packed + draw * column_;
    std::copy_n(coefficients, whole_, column);
    const Index rest = x_.cols - whole_;
    if (rest == 0) return;
    std::fill_n(column + whole_, kWidth<P> - rest, 0.0);
    std::copy_n(coefficients + whole_, rest, column + whole_ + kWidth<P> - rest);
  }

  void unpack(const double* packed, Index draw, Index, double* gradient) const override {
    const double* column = packed + draw * column_;
    std::copy_n(column, whole_, gradient);
    const Index rest = x_.cols - whole_;
    std::copy_n(column + whole_ + kWidth<P> - rest, rest, gradient + whole_);
  }

  void multiply(const RowBlock& block, const double* packed, Index draws, double* eta,
                Index stride) const override {
    Index s = 0;
    for (; s + kDrawTile <= draws; s += kDrawTile)
      multiply_draws<4, kDrawTile>(block, packed + s * column_, eta + s * stride, stride);
    for (; s < draws; ++s) multiply_draws<8, 1>(block, packed + s * column_, eta + s * stride, stride);
  }

  void accumulate(const RowBlock& block, const double* residual, Index stride, Index draws,
                  double* packed_gradient) const override {
    Index s = 0;
    for (; s + kDrawTile <= draws; s += kDrawTile)
      accumulate_draws<4, kDrawTile>(block, residual + s * stride, stride, packed_gradient + s * column_);
    for (; s < draws; ++s)
      accumulate_draws<8, 1>(block, residual + s * stride, stride, packed_gradient + s * column_);
  }

 private:
  template <int R>
  void find_rows(const RowBlock& block, Index first, const Scalar** rows) const {
    for (int r = 0; r < R; ++r) rows[r] = x_.data + block.row(first + r) * x_.stride;
  }

  template <int R, int S>
  void multiply_draws(const RowBlock& block, const double* packed, double* eta, Index stride) const {
    Index i = 0;
    for (; i + R <= block.size; i += R) multiply_tile<R, S>(block, i, packed, eta + i, stride);
    for (; i < block.size; ++i) multiply_tile<1, S>(block, i, packed, eta + i, stride);
  }

  template <int R, int S>
  void multiply_tile(const RowBlock& block, Index first, const double* packed, double* eta,
                     Index stride) const {
    const Scalar* rows[R];
    find_rows<R>(block, first, rows);
    P sums[S * R] = {};
    const auto add = [&](Index packed_at, Index at) {
      P beta[S];
      for (int s = 0; s < S; ++s) beta[s] = load<P>(packed + s * column_ + packed_at);
      for (int r = 0; r < R; ++r) {
        const P x = load<P>(rows[r] + at);
        for (int s = 0; s < S; ++s) sums[s * R + r] = multiply_add(x, beta[s], sums[s * R + r]);
      }
    };
    for (Index j = 0; j < whole_; j += kWidth<P>) add(j, j);
    if (whole_ < x_.cols) add(whole_, x_.cols - kWidth<P>);
    double totals[S * R];
    add_up_each<S * R>(sums, totals);
    for (int s = 0; s < S; ++s) std::copy_n(totals + s * R, R, eta + s * stride);
  }

  template <int R, int S>
  void accumulate_draws(const RowBlock& block, const double* residual, Index stride, double* packed) const {
    Index i = 0;
    for (; i + R <= block.size; i += R) accumulate_tile<R, S>(block, i, residual + i, stride, packed);
    for (; i < block.size; ++i) accumulate_tile<1, S>(block, i, residual + i, stride, packed);
  }

  template <int R, int S>
  void accumulate_tile(const RowBlock& block, Index first, const double* residual, Index stride,
                       double* packed) const {
    const Scalar* rows[R];
    find_rows<R>(block, first, rows);
    P weights[S * R];
    for (int s = 0; s < S; ++s)
      for (int r = 0; r < R; ++r) weights[s * R + r] = fill<P>(residual[s * stride + r]);
    const auto add = [&](Index packed_at, Index at) {
      P sums[S];
      for (int s = 0; s < S; ++s) sums[s] = load<P>(packed + s * column_ + packed_at);
      for (int r = 0; r < R; ++r) {
        const P x = load<P>(rows[r] + at);
        for (int s = 0; s < S; ++s) sums[s] = multiply_add(x, weights[s * R + r], sums[s]);
      }
      for (int s = 0; s < S; ++s) store(packed + s * column_ + packed_at, sums[s]);
    };
    for (Index j = 0; j < whole_; j += kWidth<P>) add(j, j);
    if (whole_ < x_.cols) add(whole_, x_.cols - kWidth<P>);
  }

  DenseRows<Scalar> x_;
  Index whole_;   // columns in whole packs
  Index column_;  // length of a draw's packed column
};

}  // namespace magva::detail
