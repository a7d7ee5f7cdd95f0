#include "panel_kernels.hpp"

#include "model/pack_math.hpp"

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

void add_gram(const Panel& a, const Panel& b, double* sums, Ahead& ahead) {
  for_each_tile(b.cols, [&](auto wide, Index j) {
    for_each_tile(a.cols, [&](auto high, Index i) {
      gram_tile<high, wide>(a.col(i), a.stride, b.col(j), b.stride, a.rows, sums + i + j * a.cols, a.cols);
      ahead.some();
    });
  });
}

void add_upper_gram(const Panel& a, const Panel& b, double* sums, Ahead& ahead) {
  for_each_tile(b.cols, [&](auto wide, Index j) {
    for_each_tile(a.cols, [&](auto high, Index i) {
      if (i >= j + wide) return;
      gram_tile<high, wide>(a.col(i), a.stride, b.col(j), b.stride, a.rows, sums + i + j * a.cols, a.cols);
      ahead.some();
    });
  });
}

void multiply(double alpha, const Panel& a, ConstMatrixRef small, double beta, const MutablePanel& out,
              Ahead& ahead) {
  const Index packs = a.rows / kWidth<Pack>;
  const Index stride = small.outerStride();
  for_each_tile(packs, [&](auto tall, Index pack) {
    const Index row = pack * kWidth<Pack>;
    for_each_tile(small.cols(), [&](auto wide, Index j) {
      multiply_tile<tall, wide>(alpha, a.data + row, a.stride, a.cols, small.data() + j * stride, stride,
                                beta, out.col(j) + row, out.stride);
      ahead.some();
    });
  });
  const Index done = packs * kWidth<Pack>;
  if (done < a.rows) multiply_rest(alpha, a, done, small, beta, out);
}

namespace {

template <int J>
void combine_columns(const MutablePanel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right,
                     Ahead& ahead) {
  constexpr Index kPack = kWidth<Pack>;
  for_each_tile(x.rows / kPack, [&](auto tall, Index pack) {
    constexpr int R = tall;
    double* rows = x.data + pack * kPack;
    Pack acc[R * J];
    unroll<R * J>([&](auto i) __attribute__((always_inline)) { acc[i] = Pack{}; });
    add_product<R, J>(acc, rows, x.stride, J, left.data(), left.outerStride());
    add_product<R, J>(acc, v.data + pack * kPack, v.stride, J, right.data(), right.outerStride());
    unroll<J>([&](auto j) __attribute__((always_inline)) {
      unroll<R>([&](auto r) __attribute__((always_inline)) {
        store(rows + j * x.stride + r * kPack, acc[j * R + r]);
      });
    });
    ahead.some();
  });
}

}  // namespace

bool combine_in_place(const MutablePanel& x, ConstMatrixRef left, const Panel& v, ConstMatrixRef right,
                      Ahead& ahead) {
  if (x.rows % kWidth<Pack> != 0) return false;
  if (x.cols == 1) combine_columns<1>(x, left, v, right, ahead);
  if (x.cols == 2) combine_columns<2>(x, left, v, right, ahead);
  if (x.cols == 3) combine_columns<3>(x, left, v, right, ahead);
  if (x.cols == 4) combine_columns<4>(x, left, v, right, ahead);
  return x.cols <= 4;
}

void multiply(double alpha, const Panel& a, ConstMatrixRef small, double beta, const MutablePanel& out) {
  Ahead nothing;
  multiply(alpha, a, small, beta, out, nothing);
}

void scale_rows(const Panel& a, const double* w, const MutablePanel& out) {
  for (Index j = 0; j < a.cols; ++j)
    by_packs(a.rows, [&](auto pack) { pack.put(out.col(j), pack.get(a.col(j)) * pack.get(w)); });
}

void copy_past_caches(const double* from, Index n, double* to) {
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
