#pragma once
// Products with dense rows. A tile of rows and draws is held in registers, so that each number of the design
// is loaded once per tile of draws. Every sum is formed in one order, whatever the tile: over columns in one
// vector of accumulators per (row, draw), over rows one after the other.
//
// Columns beyond a multiple of the vector's width are taken as one more vector that ends at the last column:
// it overlaps the vector before it, and the packed coefficients have zeros where it does.
#include <algorithm>
#include <optional>

#include "core/caches.hpp"
#include "core/vector.hpp"
#include "models/design_kernel.hpp"
#include "models/draw_vector_kernel.hpp"

namespace magva::detail {

template <class Scalar, class P>
class DenseKernel final : public DesignKernel {
 public:
  DenseKernel(DenseRows<Scalar> x, const Design& design)
      : DesignKernel(design),
        x_(x),
        whole_(x.cols / kLanes<P> * kLanes<P>),
        column_(padded(x.cols)),
        block_rows_(rows_in_bytes(cache_sizes().first, x.cols * static_cast<Index>(sizeof(Scalar)))),
        fetch_(fetch_from(x.rows * x.stride * static_cast<Index>(sizeof(Scalar)))) {
    // Numbers in single precision had better be converted once for several draws, and vectors of two gain
    // nothing.
    if constexpr (std::is_same_v<Scalar, double> && kLanes < Vec >> 2)
      draw_vectors_.emplace(x, fetch_ != Fetch::nothing);
  }

  Index block_rows() const override { return block_rows_; }

  Index packed_size(Index draws) const override { return column_ * draws; }

  void pack(const double* coefficients, Index draw, Index, double* packed) const override {
    double* column = packed + draw * column_;
    std::copy_n(coefficients, whole_, column);
    const Index rest = x_.cols - whole_;
    if (rest == 0) return;
    std::fill_n(column + whole_, kLanes<P> - rest, 0.0);
    std::copy_n(coefficients + whole_, rest, column + whole_ + kLanes<P> - rest);
  }

  void unpack(const double* packed, Index draw, Index, double* gradient) const override {
    const double* column = packed + draw * column_;
    std::copy_n(column, whole_, gradient);
    const Index rest = x_.cols - whole_;
    std::copy_n(column + whole_ + kLanes<P> - rest, rest, gradient + whole_);
  }

  void multiply(const RowBlock& block, const double* packed, Index draws, double* eta,
                Index stride) const override {
    with_fetch(block, [&](auto fetch) { multiply_all<fetch>(block, packed, draws, eta, stride); });
  }

  void accumulate(const RowBlock& block, const double* residual, Index stride, Index draws,
                  double* packed_gradient) const override {
    with_fetch(block,
               [&](auto fetch) { accumulate_all<fetch>(block, residual, stride, draws, packed_gradient); });
  }

  const DrawVectorKernel* draw_vectors() const override { return draw_vectors_ ? &*draw_vectors_ : nullptr; }

 private:
  /// how much of the block after its own a product prefetches, half of the rows or all. A design that a
  /// core's own cache does not hold is fetched so: rows are too short for the processor to see a pattern, and
  /// it would otherwise compute and wait in turns. It forgets requests when there are too many at once, and
  /// what comes from memory had better be asked for in both products.
  enum class Fetch { nothing, half, all };

  /// A line of bytes has the columns of eight vectors, and rows that are shorter than a vector lie close
  /// together: the processor sees these patterns itself.
  static constexpr bool kFetches = sizeof(Scalar) > 1 && kLanes<P> > 1;

  static Fetch fetch_from(Index bytes) {
    if (!kFetches) return Fetch::nothing;
    if (bytes <= cache_sizes().second) return Fetch::nothing;
    return bytes <= cache_sizes().last ? Fetch::half : Fetch::all;
  }

  template <Fetch F>
  static constexpr bool asks(int row) {
    return F == Fetch::all || (F == Fetch::half && row % 2 == 0);
  }

  /// Calls product(fetch). Beyond the design there is nothing, which takes the processor long to find out.
  /// Chosen rows come in runs, and mostly the row that is a block further on is wanted, too.
  template <class Product>
  void with_fetch(const RowBlock& block, Product&& product) const {
    if constexpr (kFetches) {
      const bool last = !block.chosen && block.begin + block.size + block_rows_ > x_.rows;
      const Fetch fetch = last ? Fetch::nothing : fetch_;
      if (fetch == Fetch::all) return product(std::integral_constant<Fetch, Fetch::all>{});
      if (fetch == Fetch::half) return product(std::integral_constant<Fetch, Fetch::half>{});
    }
    product(std::integral_constant<Fetch, Fetch::nothing>{});
  }

  /// Where a tile's rows are.
  template <int R>
  struct TileRows {
    TileRows(const DenseRows<Scalar>& x, const RowBlock& block, Index first) {
      for (int r = 0; r < R; ++r) at[r] = x.data + block.row(first + r) * x.stride;
    }
    const Scalar* at[R];
  };

  /// Tiles of R rows, then one each of R / 2, R / 4, ... for the rest.
  template <int R, class Tile>
  static void for_each_tile(Index rows, Tile&& tile, Index first = 0) {
    for (; first + R <= rows; first += R) tile(std::integral_constant<int, R>{}, first);
    if constexpr (R > 1) for_each_tile<R / 2>(rows, tile, first);
  }

  /// Bytes take longer to convert than to load: wide registers hold as many draws as one conversion can
  /// serve.
  static constexpr int kWideTile = sizeof(Scalar) == 1 && kLanes<P> == 8 ? 8 : 0;

  /// Calls tile(rows, wide, first draw): tiles of kDrawTile draws, one more in the last rather than a tile
  /// for one draw alone.
  template <class Tile>
  static void for_each_draw_tile(Index draws, Tile&& tile) {
    constexpr std::integral_constant<int, 4> rows;
    Index s = 0;
    if constexpr (kWideTile > 0)
      for (; s + kWideTile <= draws; s += kWideTile)
        tile(std::integral_constant<int, 2>{}, std::integral_constant<int, kWideTile>{}, s);
    for (; s + kDrawTile <= draws && draws - s != kDrawTile + 1; s += kDrawTile)
      tile(rows, std::integral_constant<int, kDrawTile>{}, s);
    if (draws - s == kDrawTile + 1) return tile(rows, std::integral_constant<int, kDrawTile + 1>{}, s);
    for (; s < draws; ++s) tile(std::integral_constant<int, 8>{}, std::integral_constant<int, 1>{}, s);
  }

  /// Numbers that meet several draws are worth a register; for one draw they had better be an operand in
  /// memory.
  template <int S>
  static P load_for(const Scalar* from) {
    if constexpr (S > 1) return in_register(load<P>(from));
    return load<P>(from);
  }

  template <Fetch F>
  void multiply_all(const RowBlock& block, const double* packed, Index draws, double* eta,
                    Index stride) const {
    for_each_draw_tile(draws, [&](auto rows, auto wide, Index s) {
      multiply_draws<rows, wide, F>(block, packed + s * column_, eta + s * stride, stride);
    });
  }

  template <int R, int S, Fetch F>
  void multiply_draws(const RowBlock& block, const double* packed, double* eta, Index stride) const {
    for_each_tile<R>(block.size, [&](auto rows, Index i) {
      multiply_tile<rows, S, F>({x_, block, i}, packed, eta + i, stride);
    });
  }

  template <int R, int S, Fetch F>
  void multiply_tile(const TileRows<R>& rows, const double* packed, double* eta, Index stride) const {
    const Index ahead = block_rows_ * x_.stride;
    const Index end = x_.cols;
    const Index last = x_.cols - kLanes<P>;
    const Index column = column_;
    P sums[S * R];
    unroll<S * R>([&](auto i) __attribute__((always_inline)) { sums[i] = P{}; });
    for (Index j = 0; j < end; j += kLanes<P>) {
      const Index at = std::min(j, last);
      P beta[S];
      unroll<S>([&](auto s) __attribute__((always_inline)) {
        beta[s] = in_register(load<P>(packed + s * column + j));
      });
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        if constexpr (asks<F>(r)) __builtin_prefetch(rows.at[r] + at + ahead, 0, 2);
        const P x = load_for<S>(rows.at[r] + at);
        unroll<S>([&](auto s) __attribute__((always_inline)) {
          sums[s * R + r] = multiply_add(x, beta[s], sums[s * R + r]);
        });
      });
    }
    reduce_sum_columns<R>(sums, eta, stride);
  }

  template <Fetch F>
  void accumulate_all(const RowBlock& block, const double* residual, Index stride, Index draws,
                      double* packed) const {
    for_each_draw_tile(draws, [&](auto rows, auto wide, Index s) {
      accumulate_draws<rows, wide, F>(block, residual + s * stride, stride, packed + s * column_);
    });
  }

  template <int R, int S, Fetch F>
  void accumulate_draws(const RowBlock& block, const double* residual, Index stride, double* packed) const {
    for_each_tile<R>(block.size, [&](auto rows, Index i) {
      accumulate_tile<rows, S, F>({x_, block, i}, residual + i, stride, packed);
    });
  }

  template <int R, int S, Fetch F>
  void accumulate_tile(const TileRows<R>& rows, const double* residual, Index stride, double* packed) const {
    const Index ahead = block_rows_ * x_.stride;
    const Index end = x_.cols;
    const Index last = x_.cols - kLanes<P>;
    const Index column = column_;
    // From memory backwards: what the other product has read last is still near.
    constexpr bool kBackwards = F == Fetch::all;
    constexpr Index kStep = kBackwards ? -kLanes<P> : kLanes<P>;
    P weights[S * R];
    unroll<S>([&](auto s) __attribute__((always_inline)) {
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        weights[s * R + r] = set<P>(residual[s * stride + r]);
      });
    });
    Index j = kBackwards ? (end - 1) / kLanes<P> * kLanes<P> : 0;
    for (; kBackwards ? j >= 0 : j < end; j += kStep) {
      const Index at = std::min(j, last);
      P sums[S];
      unroll<S>([&](auto s) __attribute__((always_inline)) { sums[s] = load<P>(packed + s * column + j); });
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        if constexpr (asks<F>(r + 1)) __builtin_prefetch(rows.at[r] + at + ahead, 0, 2);
        const P x = load_for<S>(rows.at[r] + at);
        unroll<S>([&](auto s) __attribute__((always_inline)) {
          sums[s] = multiply_add(x, weights[s * R + r], sums[s]);
        });
      });
      unroll<S>([&](auto s) __attribute__((always_inline)) { store(packed + s * column + j, sums[s]); });
    }
  }

  DenseRows<Scalar> x_;
  Index whole_;   // columns in whole vectors
  Index column_;  // length of a draw's packed column
  Index block_rows_;
  Fetch fetch_;
  std::optional<DrawVectorKernel> draw_vectors_;
};

}  // namespace magva::detail
