#pragma once
// Products of dense rows with a vector of draws, one in each lane: a number of the design meets all of them
// at once, no sum goes across lanes, and no column is filled up. Coefficients, linear predictors and
// gradients of the vector have a number of every draw together: row i's begin at kDraws i.
#include <algorithm>
#include <array>

#include "core/caches.hpp"
#include "core/vector.hpp"
#include "models/design_kernel.hpp"

namespace magva::detail {

class DrawVectorKernel {
 public:
  static constexpr Index kDraws = kLanes<Vec>;

  /// Prefetches a block ahead while it is at another, if the design is `far` from the core.
  DrawVectorKernel(const DenseRows<double>& x, bool far)
      : x_(x),
        block_rows_(
            rows_in_bytes(cache_sizes().second / 32 * 3, x.cols * static_cast<Index>(sizeof(double)))),
        ahead_(far ? block_rows_ : 0) {}

  /// Rows of a block that the second-level cache keeps from the first product to the second, a multiple of 8.
  Index block_rows() const { return block_rows_; }

  Index packed_size() const { return x_.cols * kDraws; }

  void pack(const std::array<const double*, kDraws>& coefficients, double* packed) const {
    Index j = 0;
    for (; j + kDraws <= x_.cols; j += kDraws) {
      Vec tile[kDraws];
      unroll<kDraws>([&](auto s) { tile[s] = load(coefficients[s] + j); });
      transpose(tile);
      unroll<kDraws>([&](auto k) { store(packed + (j + k) * kDraws, tile[k]); });
    }
    for (; j < x_.cols; ++j)
      for (std::size_t s = 0; s < kDraws; ++s)
        packed[j * kDraws + static_cast<Index>(s)] = coefficients[s][j];
  }

  void unpack(const double* packed, const std::array<double*, kDraws>& gradients) const {
    Index j = 0;
    for (; j + kDraws <= x_.cols; j += kDraws) {
      Vec tile[kDraws];
      unroll<kDraws>([&](auto k) { tile[k] = load(packed + (j + k) * kDraws); });
      transpose(tile);
      unroll<kDraws>([&](auto s) { store(gradients[s] + j, tile[s]); });
    }
    for (; j < x_.cols; ++j)
      for (std::size_t s = 0; s < kDraws; ++s) gradients[s][j] = packed[j * kDraws + static_cast<Index>(s)];
  }

  /// eta(i, s) = x_i' beta_s; `eta` has room for a multiple of 8 rows.
  void multiply(const RowBlock& block, const double* packed, double* eta) const {
    const Index whole = block.chosen ? 0 : block.size / kRows * kRows;
    for (Index i = 0; i < whole; i += kRows) {
      const double* first = row(block, i);
      multiply_tile(packed, eta + i * kDraws, [&](int r) { return first + r * x_.stride; });
    }
    for (Index i = whole; i < block.size; i += kRows)
      multiply_tile(packed, eta + i * kDraws,
                    [&](int r) { return row(block, std::min(i + r, block.size - 1)); });
  }

  /// gradient_s += sum_i x_i residual(i, s).
  void accumulate(const RowBlock& block, const double* residual, double* packed) const {
    constexpr int kMostColumns = kVecBytes == 64 ? 24 : 12;  // half of the registers or more
    // Beyond the design there is nothing, which takes the processor long to find out.
    const bool fetch = !block.chosen && block.begin + block.size + ahead_ <= x_.rows;
    const Index ahead = fetch ? ahead_ * x_.stride : 0;
    const Index tiles = (x_.cols + kMostColumns - 1) / kMostColumns;
    for (Index t = 0; t < tiles; ++t) {
      const Index begin = x_.cols * t / tiles;
      const Index end = x_.cols * (t + 1) / tiles;
      accumulate_columns<kMostColumns>(block, begin, end - begin, residual, packed + begin * kDraws, ahead);
    }
  }

 private:
  static constexpr int kRows = 8;  // of a tile of the first product
  static constexpr int kLine = 8;  // numbers in a cache line

  const double* row(const RowBlock& block, Index i) const { return x_.data + block.row(i) * x_.stride; }

  template <class RowAt>
  [[gnu::always_inline]] void multiply_tile(const double* packed, double* eta, RowAt&& row_at) const {
    const double* rows[kRows];
    unroll<kRows>([&](auto r) __attribute__((always_inline)) { rows[r] = row_at(r); });
    Vec sums[kRows];
    unroll<kRows>([&](auto r) __attribute__((always_inline)) { sums[r] = Vec{}; });
    for (Index j = 0, cols = x_.cols; j < cols; ++j) {
      const Vec beta = load(packed + j * kDraws);
      unroll<kRows>([&](auto r) __attribute__((always_inline)) {
        sums[r] = multiply_add(set(rows[r][j]), beta, sums[r]);
      });
    }
    unroll<kRows>([&](auto r) __attribute__((always_inline)) { store(eta + r * kDraws, sums[r]); });
  }

  /// The number of columns, C at most, has to be known at compile time: their sums are held in registers.
  template <int C>
  void accumulate_columns(const RowBlock& block, Index begin, Index count, const double* residual,
                          double* packed, Index ahead) const {
    if (count == C) return accumulate_tile<C>(block, begin, residual, packed, ahead);
    if constexpr (C > 1) accumulate_columns<C - 1>(block, begin, count, residual, packed, ahead);
  }

  template <int C>
  [[gnu::noinline]] void accumulate_tile(const RowBlock& block, Index begin, const double* residual,
                                         double* packed, Index ahead) const {
    Vec sums[C];
    unroll<C>([&](auto c) __attribute__((always_inline)) { sums[c] = load(packed + c * kDraws); });
    Index i = 0;
    do {  // there is a row: otherwise the sums would be kept twice
      const double* x = row(block, i) + begin;
      unroll<(C + kLine - 1) / kLine>([&](auto line) __attribute__((always_inline)) {
        __builtin_prefetch(x + ahead + line * kLine, 0, 2);
      });
      const Vec weight = load(residual + i * kDraws);
      unroll<C>([&](auto c)
                    __attribute__((always_inline)) { sums[c] = multiply_add(set(x[c]), weight, sums[c]); });
    } while (++i < block.size);
    unroll<C>([&](auto c) __attribute__((always_inline)) { store(packed + c * kDraws, sums[c]); });
  }

  DenseRows<double> x_;
  Index block_rows_;
  Index ahead_;
};

}  // namespace magva::detail
