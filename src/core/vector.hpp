#pragma once
// A register full of doubles, as wide as the processor's. For the engine alone: what it is depends on the
// instruction set, of which the program and the data library may be compiled for another.
#if defined(MAGVA_OUTSIDE_ENGINE)
#error "vector code belongs to the engine: call it through a function that is declared without vectors"
#endif
#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "magva/types.hpp"

namespace magva::detail {

#if defined(__AVX512F__)
inline constexpr int kVecBytes = 64;
inline constexpr int kDrawTile = 4;
#elif defined(__AVX__)
inline constexpr int kVecBytes = 32;
inline constexpr int kDrawTile = 2;
#else
inline constexpr int kVecBytes = 16;
inline constexpr int kDrawTile = 2;
#endif

typedef double Vec __attribute__((vector_size(kVecBytes)));
typedef std::int64_t VecBits __attribute__((vector_size(kVecBytes)));
typedef float FloatVec __attribute__((vector_size(kVecBytes / 2)));

/// Numbers in a vector; a plain double is a vector of one.
template <class P>
inline constexpr Index kLanes = static_cast<Index>(sizeof(P) / sizeof(double));

/// Rows of a block and columns of work memory are filled up to a multiple of this, the widest vector.
inline constexpr Index kPadding = 8;
inline constexpr Index padded(Index n) { return (n + kPadding - 1) / kPadding * kPadding; }

inline Vec load_bytes(const std::int8_t* from) {
#if defined(__AVX512F__)
  return _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#elif defined(__AVX2__)
  std::int32_t four;
  std::memcpy(&four, from, sizeof four);
  return _mm256_cvtepi32_pd(_mm_cvtepi8_epi32(_mm_cvtsi32_si128(four)));
#else
  typedef std::int32_t IntVec __attribute__((vector_size(kVecBytes / 2)));
  IntVec value{};
  for (int i = 0; i < kLanes<Vec>; ++i) value[i] = from[i];
  return __builtin_convertvector(value, Vec);
#endif
}

template <class P = Vec, class Scalar>
inline P load(const Scalar* from) {
  if constexpr (std::is_same_v<P, double>) {
    return static_cast<double>(*from);
  } else if constexpr (std::is_same_v<Scalar, double>) {
    P value;
    std::memcpy(&value, from, sizeof value);
    return value;
  } else if constexpr (std::is_same_v<Scalar, std::int8_t>) {
    return load_bytes(from);
  } else {
    FloatVec value;
    std::memcpy(&value, from, sizeof value);
    return __builtin_convertvector(value, P);
  }
}

template <class P>
inline void store(double* to, P value) {
  std::memcpy(to, &value, sizeof value);
}

template <class P = Vec>
inline P set(double value) {
  return value - P{};
}

/// The first n numbers, then `filler`.
inline Vec masked_load(const double* from, Index n, double filler) {
#if defined(__AVX512F__)
  return _mm512_mask_loadu_pd(set(filler), static_cast<__mmask8>((1U << n) - 1U), from);
#else
  double numbers[kLanes<Vec>];
  for (Index i = 0; i < kLanes<Vec>; ++i) numbers[i] = i < n ? from[i] : filler;
  return load(numbers);
#endif
}

inline void masked_store(double* to, Index n, Vec value) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1U << n) - 1U), value);
#else
  double numbers[kLanes<Vec>];
  store(numbers, value);
  for (Index i = 0; i < n; ++i) to[i] = numbers[i];
#endif
}

/// Where a loop over numbers is: a whole vector from `at`, or the `count` that are left.
struct FullVec {
  Index at;
  Vec load(const double* from) const { return detail::load(from + at); }
  void store(double* to, Vec value) const { detail::store(to + at, value); }
};
struct PartialVec {
  Index at;
  Index count;
  Vec load(const double* from) const { return masked_load(from + at, count, 0.0); }
  void store(double* to, Vec value) const { masked_store(to + at, count, value); }
};

/// Calls body(vector) until n numbers are done. What a partial vector computes beyond its count goes nowhere.
template <class Body>
[[gnu::always_inline]] inline void for_each_vec(Index n, Body&& body) {
  Index at = 0;
  for (; at + kLanes<Vec> <= n; at += kLanes<Vec>) body(FullVec{at});
  if (at < n) body(PartialVec{at, n - at});
}

/// a b + c in one rounding where the processor can. Spelt out, because compilers contract a sum of products
/// in one loop and not in the next, and a draw's bits must not depend on the loop that it went through.
#if defined(__FMA__) || defined(__aarch64__)
inline double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
#if defined(__AVX512F__)
inline Vec multiply_add(Vec a, Vec b, Vec c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__FMA__)
inline Vec multiply_add(Vec a, Vec b, Vec c) { return _mm256_fmadd_pd(a, b, c); }
#else
inline Vec multiply_add(Vec a, Vec b, Vec c) { return vfmaq_f64(c, a, b); }
#endif
#else
template <class P>
inline P multiply_add(P a, P b, P c) {
  return a * b + c;
}
#endif

/// Keeps compilers from loading a number again at each of its uses, where loads are what a loop waits for.
inline Vec in_register(Vec x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x));
#elif defined(__x86_64__)
  asm("" : "+x"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#endif
  return x;
}
inline double in_register(double x) { return x; }

/// a > b ? a : b, and a < b ? a : b, so that not a number in b stays so: what the processor's own do, but
/// compilers do not see it.
#if defined(__AVX512F__)
inline Vec max(Vec a, Vec b) { return _mm512_max_pd(a, b); }
inline Vec min(Vec a, Vec b) { return _mm512_min_pd(a, b); }
#elif defined(__AVX__)
inline Vec max(Vec a, Vec b) { return _mm256_max_pd(a, b); }
inline Vec min(Vec a, Vec b) { return _mm256_min_pd(a, b); }
#else
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline Vec min(Vec a, Vec b) { return a < b ? a : b; }
#endif
inline Vec abs(Vec x) { return reinterpret_cast<Vec>(reinterpret_cast<VecBits>(x) & 0x7fffffffffffffff); }

/// Of what comparisons give.
inline bool all_true(VecBits mask) {
#if defined(__AVX512DQ__)
  return _mm512_movepi64_mask(reinterpret_cast<__m512i>(mask)) == 0xff;
#elif defined(__AVX__) && !defined(__AVX512F__)
  return _mm256_movemask_pd(reinterpret_cast<__m256d>(mask)) == 0xf;
#else
  bool all = true;
  for (int i = 0; i < kLanes<Vec>; ++i) all = all && mask[i] != 0;
  return all;
#endif
}

inline Vec sqrt(Vec x) {
#if defined(__AVX512F__)
  return _mm512_sqrt_pd(x);
#elif defined(__AVX__)
  return _mm256_sqrt_pd(x);
#else
  for (int i = 0; i < kLanes<Vec>; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

/// 1 / sqrt(x) for x between 1e-300 and 1e300, to two units in the last place. Not a number stays so.
inline Vec inverse_sqrt(Vec x) {
#if defined(__AVX512F__)
  // The processor's estimate y leaves r = 1 - x y^2 below 2^-13, and y / sqrt(1 - r) is what is wanted: its
  // power series up to r^3. A third of the time of a root.
  const Vec y = _mm512_rsqrt14_pd(x);
  const Vec r = multiply_add(-(x * y), y, set(1.0));
  const Vec series = multiply_add(multiply_add(set(.3125), r, set(.375)), r, set(.5));
  return multiply_add(series, r * y, y);
#else
  return 1. / sqrt(x);
#endif
}

/// Adjacent numbers first, then adjacent pairs, and so on: the order of reduce_sum_each too.
inline double reduce_sum(double x) { return x; }
inline double reduce_sum(Vec x) {
  double numbers[kLanes<Vec>];
  store(numbers, x);
  for (Index n = kLanes<Vec> / 2; n > 0; n /= 2)
    for (Index i = 0; i < n; ++i) numbers[i] = numbers[2 * i] + numbers[2 * i + 1];
  return numbers[0];
}

/// f(0), ..., f(N - 1) with the argument known at compile time, so that arrays indexed by it live in
/// registers: compilers unroll plain loops too late for that.
template <int N, class F>
[[gnu::always_inline]] inline void unroll(F&& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, I>{}), ...);
  }
  (std::make_integer_sequence<int, N>{});
}

#if defined(__AVX512F__)
/// Numbers whose first and second halves, added, are reduce_sum() of four vectors.
inline Vec reduce_sum_four(const Vec* vectors) {
  const auto pairs = [](Vec a, Vec b) {
    return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) +
           __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  };
  const Vec a = pairs(vectors[0], vectors[1]);
  const Vec b = pairs(vectors[2], vectors[3]);
  return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
         __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}
inline Vec reduce_sum_halves(Vec a, Vec b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}
#endif

/// out[i] = reduce_sum(vectors[i]).
template <int N, class P>
[[gnu::always_inline]] inline void reduce_sum_each(const P (&vectors)[N], double* out) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<P, Vec> && N % 8 == 0) {
    unroll<N / 8>([&](auto group) __attribute__((always_inline)) {
      constexpr int i = 8 * group;
      store(out + i, reduce_sum_halves(reduce_sum_four(vectors + i), reduce_sum_four(vectors + i + 4)));
    });
    return;
  }
#endif
  unroll<N>([&](auto i) __attribute__((always_inline)) { out[i] = reduce_sum(vectors[i]); });
}

/// The same for columns of R vectors, which go to out, out + stride, ...
template <int R, int N, class P>
[[gnu::always_inline]] inline void reduce_sum_columns(const P (&vectors)[N], double* out, Index stride) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<P, Vec> && R == 4) {
    unroll<N / R>([&](auto column) __attribute__((always_inline)) {
      const Vec twice = reduce_sum_four(vectors + R * column);
      const __m256d sums = _mm256_add_pd(_mm512_castpd512_pd256(twice), _mm512_extractf64x4_pd(twice, 1));
      _mm256_storeu_pd(out + column * stride, sums);
    });
    return;
  }
#endif
  double totals[N];
  reduce_sum_each(vectors, totals);
  for (int column = 0; column < N / R; ++column)
    for (int i = 0; i < R; ++i) out[column * stride + i] = totals[column * R + i];
}

/// One step of transpose(): squares of D numbers that lie across the diagonal of those of 2 D change places.
template <int D, int... I>
[[gnu::always_inline]] inline void exchange(Vec& a, Vec& b, std::integer_sequence<int, I...>) {
  constexpr int W = sizeof...(I);
  const Vec low = __builtin_shufflevector(a, b, ((I & D) == 0 ? I : I - D + W)...);
  b = __builtin_shufflevector(a, b, ((I & D) == 0 ? I + D : I + W)...);
  a = low;
}

/// As many vectors as each has numbers.
template <int D = 1>
[[gnu::always_inline]] inline void transpose(Vec* tile) {
  constexpr int W = static_cast<int>(kLanes<Vec>);
  unroll<W>([&](auto i) __attribute__((always_inline)) {
    if constexpr ((i & D) == 0) exchange<D>(tile[i], tile[i + D], std::make_integer_sequence<int, W>{});
  });
  if constexpr (2 * D < W) transpose<2 * D>(tile);
}

}  // namespace magva::detail
