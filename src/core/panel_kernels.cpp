#include "core/panel_kernels.hpp"

#include "core/vector_math.hpp"

namespace magva::detail {

namespace {

template <int I, int J>
void gram_tile(const double* a, Index a_stride, const double* b, Index b_stride, Index rows, double* sums,
               Index sum_stride) {
  Vec acc[I * J];
  unroll<I * J>([&](auto i) __attribute__((always_inline)) { acc[i] = Vec{}; });
  for_each_vec(
      rows, [&](auto at) __attribute__((always_inline)) {
        Vec left[I];
        unroll<I>([&](auto i)
                      __attribute__((always_inline)) { left[i] = in_register(at.load(a + i * a_stride)); });
        unroll<J>([&](auto j) __attribute__((always_inline)) {
          const Vec right = in_register(at.load(b + j * b_stride));
          unroll<I>([&](auto i) __attribute__((always_inline)) {
            acc[j * I + i] = multiply_add(left[i], right, acc[j * I + i]);
          });
        });
      });
  double totals[I * J];
  reduce_sum_each(acc, totals);
  for (int j = 0; j < J; ++j)
    for (int i = 0; i < I; ++i) sums[i + j * sum_stride] += totals[j * I + i];
}

/// Calls tile(size, first) with sizes known at compile time: 4, then 2, then 1.
template <class Tile>
void for_each_tile(Index count, Tile&& tile) {
  Index first = 0;
  for (; first + 4 <= count; first += 4) tile(std::integral_constant<int, 4>{}, first);
  if (first + 2 <= count) {
    tile(std::integral_constant<int, 2>{}, first);
    first += 2;
  }
  if (first < count) tile(std::integral_constant<int, 1>{}, first);
}

/// Calls call(size) with the size known at compile time, Most or less.
template <int Most, class Call>
void with_size(Index size, Call&& call) {
  if (size == Most) return call(std::integral_constant<int, Most>{});
  if constexpr (Most > 1) with_size<Most - 1>(size, call);
}

// Columns of a product's tile: with four vectors of rows, their sums and the factors fill the registers.
constexpr int kMostColumns = kVecBytes == 64 ? 5 : 4;

/// Calls tile(size, first) for as few tiles of columns as can be, all of about the same size. Fewer tiles
/// read the left factor less often, which shows where its columns are 4 KiB apart and push each other out.
template <class Tile>
void for_each_column_tile(Index count, Tile&& tile) {
  if (count <= kMostColumns) return with_size<kMostColumns>(count, [&](auto size) { tile(size, 0); });
  const Index tiles = (count + kMostColumns - 1) / kMostColumns;
  for (Index t = 0; t < tiles; ++t) {
    const Range columns = piece(count, tiles, t);
    with_size<kMostColumns>(columns.size(), [&](auto size) { tile(size, columns.begin); });
  }
}

/// acc += A M for R vectors of rows and J columns.
template <int R, int J>
[[gnu::always_inline]] inline void add_product(Vec (&acc)[R * J], const double* a, Index a_stride, Index p,
                                               const double* small, Index small_stride) {
  constexpr Index kPack = kLanes<Vec>;
  for (Index i = 0; i < p; ++i) {
    Vec left[R];
    unroll<R>([&](auto r) __attribute__((always_inline)) { left[r] = load(a + i * a_stride + r * kPack); });
    unroll<J>([&](auto j) __attribute__((always_inline)) {
      const Vec right = set(small[i + j * small_stride]);
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        acc[j * R + r] = multiply_add(left[r], right, acc[j * R + r]);
      });
    });
  }
}

template <int R, int J>
void multiply_tile(double alpha, const double* a, Index a_stride, Index p, const double* small,
                   Index small_stride, double beta, double* out, Index out_stride) {
  constexpr Index kPack = kLanes<Vec>;
  Vec acc[R * J];
  unroll<R * J>([&](auto i) __attribute__((always_inline)) { acc[i] = Vec{}; });
  add_product<R, J>(acc, a, a_stride, p, small, small_stride);
  unroll<J>([&](auto j) __attribute__((always_inline)) {
    unroll<R>([&](auto r) __attribute__((always_inline)) {
      double* to = out + j * out_stride + r * kPack;
      const Vec product = alpha * acc[j * R + r];
      store(to, beta == 0 ? product : multiply_add(set(beta), load(to), product));
    });
  });
}

void multiply_rest(double alpha, const Panel& a, Index row, ConstMatrixRef small, double beta,
                   const MutablePanel& out) {
  const Index count = a.rows - row;
  for (Index j = 0; j < small.cols(); ++j) {
    Vec acc{};
    for (Index i = 0; i < a.cols; ++i)
      acc = multiply_add(masked_load(a.col(i) + row, count, 0), set(small(i, j)), acc);
    double* to = out.col(j) + row;
    const Vec product = alpha * acc;
    masked_store(to, count,
                 beta == 0 ? product : multiply_add(set(beta), masked_load(to, count, 0), product));
  }
}

}  // namespace

void add_gram(const Panel& a, const Panel& b, double* sums, PrefetchQueue& prefetch) {
  for_each_tile(b.cols, [&](auto wide, Index j) {
    for_each_tile(a.cols, [&](auto high, Index i) {
      gram_tile<high, wide>(a.col(i), a.stride, b.col(j), b.stride, a.rows, sums + i + j * a.cols, a.cols);
      prefetch.issue();
    });
  });
}

void add_upper_gram(const Panel& a, const Panel& b, double* sums, PrefetchQueue& prefetch) {
  for_each_tile(b.cols, [&](auto wide, Index j) {
    for_each_tile(a.cols, [&](auto high, Index i) {
      if (i >= j + wide) return;
      gram_tile<high, wide>(a.col(i), a.stride, b.col(j), b.stride, a.rows, sums + i + j * a.cols, a.cols);
      prefetch.issue();
    });
  });
}

void multiply(double alpha, const Panel& a, ConstMatrixRef small, double beta, const MutablePanel& out,
              PrefetchQueue& prefetch) {
  const Index vectors = a.rows / kLanes<Vec>;
  const Index stride = small.outerStride();
  for_each_tile(vectors, [&](auto tall, Index vector) {
    const Index row = vector * kLanes<Vec>;
    for_each_column_tile(small.cols(), [&](auto wide, Index j) {
      multiply_tile<tall, wide>(alpha, a.data + row, a.stride, a.cols, small.data() + j * stride, stride,
                                beta, out.col(j) + row, out.stride);
      prefetch.issue();
    });
  });
  const Index done = vectors * kLanes<Vec>;
  if (done < a.rows) multiply_rest(alpha, a, done, small, beta, out);
}

namespace {

/// out = X L + V R for R vectors of rows from `row` on and J columns from `first` on.
template <int R, int J>
void combine_tile(const Panel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right, Index row,
                  Index first, const MutablePanel& out, PrefetchQueue& prefetch) {
  Vec acc[R * J];
  unroll<R * J>([&](auto i) __attribute__((always_inline)) { acc[i] = Vec{}; });
  add_product<R, J>(acc, x.data + row, x.stride, x.cols, left.col(first).data(), left.outerStride());
  prefetch.issue();
  add_product<R, J>(acc, v.data + row, v.stride, v.cols, right.col(first).data(), right.outerStride());
  unroll<J>([&](auto j) __attribute__((always_inline)) {
    unroll<R>([&](auto r) __attribute__((always_inline)) {
      store(out.col(first + j) + row + r * kLanes<Vec>, acc[j * R + r]);
    });
  });
  prefetch.issue();
}

/// The same for the rows from `row` on, less than a vector.
template <int J>
void combine_rest(const Panel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right, Index row,
                  Index first, const MutablePanel& out) {
  const Index count = x.rows - row;
  Vec acc[J];
  unroll<J>([&](auto j) { acc[j] = Vec{}; });
  for (Index i = 0; i < x.cols; ++i) {
    const Vec of_x = masked_load(x.col(i) + row, count, 0);
    const Vec of_v = masked_load(v.col(i) + row, count, 0);
    unroll<J>([&](auto j) {
      acc[j] = multiply_add(of_x, set(left(i, first + j)), acc[j]);
      acc[j] = multiply_add(of_v, set(right(i, first + j)), acc[j]);
    });
  }
  unroll<J>([&](auto j) { masked_store(out.col(first + j) + row, count, acc[j]); });
}

}  // namespace

void combine(const Panel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right,
             const MutablePanel& out, PrefetchQueue& prefetch) {
  const Index vectors = x.rows / kLanes<Vec>;
  for_each_tile(vectors, [&](auto tall, Index vector) {
    for_each_column_tile(x.cols, [&](auto wide, Index first) {
      combine_tile<tall, wide>(x, left, v, right, vector * kLanes<Vec>, first, out, prefetch);
    });
  });
  const Index done = vectors * kLanes<Vec>;
  if (done == x.rows) return;
  for_each_column_tile(
      x.cols, [&](auto wide, Index first) { combine_rest<wide>(x, left, v, right, done, first, out); });
}

bool combines_in_place(Index columns) { return columns <= kMostColumns; }

void multiply(double alpha, const Panel& a, ConstMatrixRef small, double beta, const MutablePanel& out) {
  PrefetchQueue none;
  multiply(alpha, a, small, beta, out, none);
}

void scale_rows(const Panel& a, const double* w, const MutablePanel& out) {
  for (Index j = 0; j < a.cols; ++j)
    for_each_vec(a.rows, [&](auto at) { at.store(out.col(j), at.load(a.col(j)) * at.load(w)); });
}

void stream_copy(const double* from, Index n, double* to) {
#if defined(__AVX512F__)
  constexpr std::uintptr_t kLine = 64;
  Index done = 0;
  if (reinterpret_cast<std::uintptr_t>(to) % kLine == 0)
    for (; done + kLanes<Vec> <= n; done += kLanes<Vec>) _mm512_stream_pd(to + done, load(from + done));
  std::copy(from + done, from + n, to + done);
#else
  std::copy_n(from, n, to);
#endif
}

double sum_of_logs(const double* x, Index n) {
  constexpr double kSmall = 1e-200;
  constexpr double kLarge = 1e200;
  constexpr Index kFactors = 4;
  constexpr Index kGroup = kFactors * kLanes<Vec>;
  Vec sum{};
  Index done = 0;
  for (; done + kGroup <= n; done += kGroup) {
    Vec product = set(1);
    for (Index k = 0; k < kFactors; ++k) product *= load(x + done + k * kLanes<Vec>);
    product = abs(product);
    const auto fine = (product > set(kSmall)) & (product < set(kLarge));
    if (!all_true(fine)) break;
    sum += log(product);
  }
  const Eigen::Map<const Eigen::ArrayXd> rest(x + done, n - done);
  return reduce_sum(sum) + rest.abs().log().sum();
}

}  // namespace magva::detail
