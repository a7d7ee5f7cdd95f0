#include "core/panel_kernels.hpp"

#include "core/vector_math.hpp"

namespace magva::detail {

namespace {

template <int I, int J>
void gram_tile(const double* a, Index a_stride, const double* b, Index b_stride, Index rows, double* sums,
               Index sum_stride) {
  Pack acc[I * J];
  unroll<I * J>([&](auto i) __attribute__((always_inline)) { acc[i] = Pack{}; });
  by_packs(
      rows, [&](auto pack) __attribute__((always_inline)) {
        Pack left[I];
        unroll<I>([&](auto i)
                      __attribute__((always_inline)) { left[i] = in_register(pack.get(a + i * a_stride)); });
        unroll<J>([&](auto j) __attribute__((always_inline)) {
          const Pack right = in_register(pack.get(b + j * b_stride));
          unroll<I>([&](auto i) __attribute__((always_inline)) {
            acc[j * I + i] = multiply_add(left[i], right, acc[j * I + i]);
          });
        });
      });
  double totals[I * J];
  add_up_each(acc, totals);
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

// Columns of a product's tile: with four packs of rows, their sums and the factors fill the registers.
constexpr int kMostColumns = kPackBytes == 64 ? 5 : 4;

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

/// acc += A M for R packs of rows and J columns.
template <int R, int J>
[[gnu::always_inline]] inline void add_product(Pack (&acc)[R * J], const double* a, Index a_stride, Index p,
                                               const double* small, Index small_stride) {
  constexpr Index kPack = kWidth<Pack>;
  for (Index i = 0; i < p; ++i) {
    Pack left[R];
    unroll<R>([&](auto r) __attribute__((always_inline)) { left[r] = load(a + i * a_stride + r * kPack); });
    unroll<J>([&](auto j) __attribute__((always_inline)) {
      const Pack right = fill(small[i + j * small_stride]);
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        acc[j * R + r] = multiply_add(left[r], right, acc[j * R + r]);
      });
    });
  }
}

template <int R, int J>
void multiply_tile(double alpha, const double* a, Index a_stride, Index p, const double* small,
                   Index small_stride, double beta, double* out, Index out_stride) {
  constexpr Index kPack = kWidth<Pack>;
  Pack acc[R * J];
  unroll<R * J>([&](auto i) __attribute__((always_inline)) { acc[i] = Pack{}; });
  add_product<R, J>(acc, a, a_stride, p, small, small_stride);
  unroll<J>([&](auto j) __attribute__((always_inline)) {
    unroll<R>([&](auto r) __attribute__((always_inline)) {
      double* to = out + j * out_stride + r * kPack;
      const Pack product = alpha * acc[j * R + r];
      store(to, beta == 0 ? product : multiply_add(fill(beta), load(to), product));
    });
  });
}

void multiply_rest(double alpha, const Panel& a, Index row, ConstMatrixRef small, double beta,
                   const MutablePanel& out) {
  const Index count = a.rows - row;
  for (Index j = 0; j < small.cols(); ++j) {
    Pack acc{};
    for (Index i = 0; i < a.cols; ++i)
      acc = multiply_add(load_some(a.col(i) + row, count, 0), fill(small(i, j)), acc);
    double* to = out.col(j) + row;
    const Pack product = alpha * acc;
    store_some(to, count, beta == 0 ? product : multiply_add(fill(beta), load_some(to, count, 0), product));
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
  const Index packs = a.rows / kWidth<Pack>;
  const Index stride = small.outerStride();
  for_each_tile(packs, [&](auto tall, Index pack) {
    const Index row = pack * kWidth<Pack>;
    for_each_column_tile(small.cols(), [&](auto wide, Index j) {
      multiply_tile<tall, wide>(alpha, a.data + row, a.stride, a.cols, small.data() + j * stride, stride,
                                beta, out.col(j) + row, out.stride);
      prefetch.issue();
    });
  });
  const Index done = packs * kWidth<Pack>;
  if (done < a.rows) multiply_rest(alpha, a, done, small, beta, out);
}

namespace {

/// out = X L + V R for R packs of rows from `row` on and J columns from `first` on.
template <int R, int J>
void combine_tile(const Panel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right, Index row,
                  Index first, const MutablePanel& out, PrefetchQueue& prefetch) {
  Pack acc[R * J];
  unroll<R * J>([&](auto i) __attribute__((always_inline)) { acc[i] = Pack{}; });
  add_product<R, J>(acc, x.data + row, x.stride, x.cols, left.col(first).data(), left.outerStride());
  prefetch.issue();
  add_product<R, J>(acc, v.data + row, v.stride, v.cols, right.col(first).data(), right.outerStride());
  unroll<J>([&](auto j) __attribute__((always_inline)) {
    unroll<R>([&](auto r) __attribute__((always_inline)) {
      store(out.col(first + j) + row + r * kWidth<Pack>, acc[j * R + r]);
    });
  });
  prefetch.issue();
}

/// The same for the rows from `row` on, less than a pack.
template <int J>
void combine_rest(const Panel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right, Index row,
                  Index first, const MutablePanel& out) {
  const Index count = x.rows - row;
  Pack acc[J];
  unroll<J>([&](auto j) { acc[j] = Pack{}; });
  for (Index i = 0; i < x.cols; ++i) {
    const Pack of_x = load_some(x.col(i) + row, count, 0);
    const Pack of_v = load_some(v.col(i) + row, count, 0);
    unroll<J>([&](auto j) {
      acc[j] = multiply_add(of_x, fill(left(i, first + j)), acc[j]);
      acc[j] = multiply_add(of_v, fill(right(i, first + j)), acc[j]);
    });
  }
  unroll<J>([&](auto j) { store_some(out.col(first + j) + row, count, acc[j]); });
}

}  // namespace

void combine(const Panel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right,
             const MutablePanel& out, PrefetchQueue& prefetch) {
  const Index packs = x.rows / kWidth<Pack>;
  for_each_tile(packs, [&](auto tall, Index pack) {
    for_each_column_tile(x.cols, [&](auto wide, Index first) {
      combine_tile<tall, wide>(x, left, v, right, pack * kWidth<Pack>, first, out, prefetch);
    });
  });
  const Index done = packs * kWidth<Pack>;
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
    by_packs(a.rows, [&](auto pack) { pack.put(out.col(j), pack.get(a.col(j)) * pack.get(w)); });
}

void stream_copy(const double* from, Index n, double* to) {
#if defined(__AVX512F__)
  constexpr std::uintptr_t kLine = 64;
  Index done = 0;
  if (reinterpret_cast<std::uintptr_t>(to) % kLine == 0)
    for (; done + kWidth<Pack> <= n; done += kWidth<Pack>) _mm512_stream_pd(to + done, load(from + done));
  std::copy(from + done, from + n, to + done);
#else
  std::copy_n(from, n, to);
#endif
}

double sum_of_logs(const double* x, Index n) {
  constexpr double kSmall = 1e-200;
  constexpr double kLarge = 1e200;
  constexpr Index kFactors = 4;
  constexpr Index kGroup = kFactors * kWidth<Pack>;
  Pack sum{};
  Index done = 0;
  for (; done + kGroup <= n; done += kGroup) {
    Pack product = fill(1);
    for (Index k = 0; k < kFactors; ++k) product *= load(x + done + k * kWidth<Pack>);
    product = abs(product);
    const auto fine = (product > fill(kSmall)) & (product < fill(kLarge));
    if (!all_true(fine)) break;
    sum += log(product);
  }
  const Eigen::Map<const Eigen::ArrayXd> rest(x + done, n - done);
  return add_up(sum) + rest.abs().log().sum();
}

}  // namespace magva::detail
