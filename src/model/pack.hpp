#pragma once
// A register full of doubles, as wide as the processor's, and the functions on it that the models are made
// of.
#if defined(__FMA__)
#include <immintrin.h>
#endif

#include <cstdint>
#include <cstring>
#include <numbers>
#include <type_traits>
#include <utility>

#include "magva/types.hpp"

namespace magva::detail {

#if defined(__AVX512F__)
inline constexpr int kPackBytes = 64;
inline constexpr int kDrawTile = 4;
#elif defined(__AVX__)
inline constexpr int kPackBytes = 32;
inline constexpr int kDrawTile = 2;
#else
inline constexpr int kPackBytes = 16;
inline constexpr int kDrawTile = 2;
#endif

typedef double Pack __attribute__((vector_size(kPackBytes)));
typedef std::int64_t PackBits __attribute__((vector_size(kPackBytes)));
typedef float FloatPack __attribute__((vector_size(kPackBytes / 2)));

/// Numbers in a pack; a plain double is a pack of one.
template <class P>
inline constexpr Index kWidth = static_cast<Index>(sizeof(P) / sizeof(double));

/// Rows of a block and columns of work memory are filled up to a multiple of this, the widest pack.
inline constexpr Index kPadding = 8;
inline constexpr Index padded(Index n) { return (n + kPadding - 1) / kPadding * kPadding; }

template <class P = Pack, class Scalar>
inline P load(const Scalar* from) {
  if constexpr (std::is_same_v<P, double>) {
    return static_cast<double>(*from);
  } else if constexpr (std::is_same_v<Scalar, double>) {
    P value;
    std::memcpy(&value, from, sizeof value);
    return value;
  } else {
    FloatPack value;
    std::memcpy(&value, from, sizeof value);
    return __builtin_convertvector(value, P);
  }
}

template <class P>
inline void store(double* to, P value) {
  std::memcpy(to, &value, sizeof value);
}

template <class P = Pack>
inline P fill(double value) {
  return value - P{};
}

/// The first n numbers, then `filler`.
inline Pack load_some(const double* from, Index n, double filler) {
#if defined(__AVX512F__)
  return _mm512_mask_loadu_pd(fill(filler), static_cast<__mmask8>((1U << n) - 1U), from);
#else
  double numbers[kWidth<Pack>];
  for (Index i = 0; i < kWidth<Pack>; ++i) numbers[i] = i < n ? from[i] : filler;
  return load(numbers);
#endif
}

inline void store_some(double* to, Index n, Pack value) {
#if defined(__AVX512F__)
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>((1U << n) - 1U), value);
#else
  double numbers[kWidth<Pack>];
  store(numbers, value);
  for (Index i = 0; i < n; ++i) to[i] = numbers[i];
#endif
}

/// Where a loop over numbers is: a whole pack from `at`, or the `count` that are left.
struct WholePack {
  Index at;
  Pack get(const double* from) const { return load(from + at); }
  void put(double* to, Pack value) const { store(to + at, value); }
};
struct PartialPack {
  Index at;
  Index count;
  Pack get(const double* from) const { return load_some(from + at, count, 0.0); }
  void put(double* to, Pack value) const { store_some(to + at, count, value); }
};

/// Calls body(pack) until n numbers are done. What a partial pack computes beyond its count goes nowhere.
template <class Body>
[[gnu::always_inline]] inline void by_packs(Index n, Body&& body) {
  Index at = 0;
  for (; at + kWidth<Pack> <= n; at += kWidth<Pack>) body(WholePack{at});
  if (at < n) body(PartialPack{at, n - at});
}

/// a b + c in one rounding where the processor can. Spelt out, because compilers contract a sum of products
/// in one loop and not in the next, and a draw's bits must not depend on the loop that it went through.
#if defined(__FMA__)
inline double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
#if defined(__AVX512F__)
inline Pack multiply_add(Pack a, Pack b, Pack c) { return _mm512_fmadd_pd(a, b, c); }
#else
inline Pack multiply_add(Pack a, Pack b, Pack c) { return _mm256_fmadd_pd(a, b, c); }
#endif
#else
template <class P>
inline P multiply_add(P a, P b, P c) {
  return a * b + c;
}
#endif

/// Keeps compilers from loading a number again at each of its uses, where loads are what a loop waits for.
inline Pack in_register(Pack x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x));
#elif defined(__x86_64__)
  asm("" : "+x"(x));
#endif
  return x;
}
inline double in_register(double x) { return x; }

/// Not a number in b stays so.
inline Pack max(Pack a, Pack b) { return a > b ? a : b; }
inline Pack min(Pack a, Pack b) { return a < b ? a : b; }
inline Pack abs(Pack x) { return max(x, -x); }

inline Pack root(Pack x) {
#if defined(__AVX512F__)
  return _mm512_sqrt_pd(x);
#elif defined(__AVX__)
  return _mm256_sqrt_pd(x);
#else
  for (int i = 0; i < kWidth<Pack>; ++i) x[i] = __builtin_sqrt(x[i]);
  return x;
#endif
}

/// 1 / sqrt(x) for x between 1e-300 and 1e300, to two units in the last place. Not a number stays so.
inline Pack inverse_root(Pack x) {
#if defined(__AVX512F__)
  // Newton's iteration doubles the 14 bits of the processor's estimate twice: a third of the time of a root.
  const Pack half = .5 * x;
  Pack y = _mm512_rsqrt14_pd(x);
  for (int iteration = 0; iteration < 2; ++iteration)
    y = multiply_add(y, multiply_add(-half * y, y, fill(.5)), y);
  return y;
#else
  return 1. / root(x);
#endif
}

/// 1 / x for x between 1e-300 and 1e300, to a unit in the last place. Not a number stays so.
inline Pack inverse(Pack x) {
#if defined(__AVX512F__)
  // As in inverse_root(): a division keeps the multipliers waiting.
  Pack y = _mm512_rcp14_pd(x);
  for (int iteration = 0; iteration < 2; ++iteration) y = multiply_add(y, multiply_add(-x, y, fill(1.0)), y);
  return y;
#else
  return 1. / x;
#endif
}

/// Adjacent numbers first, then adjacent pairs, and so on: the order of add_up_each too.
inline double add_up(double x) { return x; }
inline double add_up(Pack x) {
  double numbers[kWidth<Pack>];
  store(numbers, x);
  for (Index n = kWidth<Pack> / 2; n > 0; n /= 2)
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
/// Numbers whose first and second halves, added, are add_up() of four packs.
inline Pack add_up_four(const Pack* packs) {
  const auto pairs = [](Pack a, Pack b) {
    return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) +
           __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
  };
  const Pack a = pairs(packs[0], packs[1]);
  const Pack b = pairs(packs[2], packs[3]);
  return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
         __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
}
inline Pack add_up_halves(Pack a, Pack b) {
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}
#endif

/// out[i] = add_up(packs[i]).
template <int N, class P>
[[gnu::always_inline]] inline void add_up_each(const P (&packs)[N], double* out) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<P, Pack> && N % 8 == 0) {
    unroll<N / 8>([&](auto group) __attribute__((always_inline)) {
      constexpr int i = 8 * group;
      store(out + i, add_up_halves(add_up_four(packs + i), add_up_four(packs + i + 4)));
    });
    return;
  }
#endif
  unroll<N>([&](auto i) __attribute__((always_inline)) { out[i] = add_up(packs[i]); });
}

/// The same for columns of R packs, which go to out, out + stride, ...
template <int R, int N, class P>
[[gnu::always_inline]] inline void add_up_columns(const P (&packs)[N], double* out, Index stride) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<P, Pack> && R == 4) {
    unroll<N / R>([&](auto column) __attribute__((always_inline)) {
      const Pack twice = add_up_four(packs + R * column);
      const __m256d sums = _mm256_add_pd(_mm512_castpd512_pd256(twice), _mm512_extractf64x4_pd(twice, 1));
      _mm256_storeu_pd(out + column * stride, sums);
    });
    return;
  }
#endif
  double totals[N];
  add_up_each(packs, totals);
  for (int column = 0; column < N / R; ++column)
    for (int i = 0; i < R; ++i) out[column * stride + i] = totals[column * R + i];
}

/// exp(x) by its power series around the nearest multiple of log 2: relative error below 2^-52. Results stay
/// normal numbers: below -708 it is exp(-708), above 709 exp(709). Not a number stays so. Each step of the
/// series waits for the one before: several packs at once keep the processor busy meanwhile.
template <int N>
[[gnu::always_inline]] inline void exp_each(Pack (&x)[N]) {
  constexpr double kRound = 0x1.8p52;  // added, it leaves a whole number in the last bits
  constexpr double kLog2High = 0x1.62e42fefa0000p-1;
  constexpr double kLog2Low = 0x1.cf79abc9e3b3ap-40;
  constexpr double kInverseFactorials[] = {1.0 / 6227020800.0,
                                           1.0 / 479001600.0,
                                           1.0 / 39916800.0,
                                           1.0 / 3628800.0,
                                           1.0 / 362880.0,
                                           1.0 / 40320.0,
                                           1.0 / 5040.0,
                                           1.0 / 720.0,
                                           1.0 / 120.0,
                                           1.0 / 24.0,
                                           1.0 / 6.0,
                                           0.5,
                                           1.0,
                                           1.0};
  Pack shifted[N];
  Pack r[N];
  Pack series[N];
  unroll<N>([&](auto i) __attribute__((always_inline)) {
    const Pack bounded = max(fill(-708.0), min(fill(709.0), x[i]));
    shifted[i] = multiply_add(bounded, fill(1.0 / std::numbers::ln2), fill(kRound));
    const Pack n = shifted[i] - kRound;
    r[i] = multiply_add(n, fill(-kLog2Low), multiply_add(n, fill(-kLog2High), bounded));
    series[i] = fill(kInverseFactorials[0]);
  });
  unroll<13>([&](auto k) __attribute__((always_inline)) {
    unroll<N>([&](auto i) __attribute__((always_inline)) {
      series[i] = multiply_add(series[i], r[i], fill(kInverseFactorials[k + 1]));
    });
  });
  unroll<N>([&](auto i) __attribute__((always_inline)) {
    const PackBits power = reinterpret_cast<PackBits>(shifted[i]) << 52;
    x[i] = reinterpret_cast<Pack>(reinterpret_cast<PackBits>(series[i]) + power);
  });
}

inline Pack exp(Pack x) {
  Pack one[1] = {x};
  exp_each(one);
  return one[0];
}

/// log(x) for a positive normal x: its exponent, and 2 atanh((f - 1) / (f + 1)) by its power series for the
/// fraction f between sqrt(1/2) and sqrt(2). Relative error below 2^-51.
inline Pack log(Pack x) {
  constexpr double kLog2High = 0x1.62e42fefa0000p-1;
  constexpr double kLog2Low = 0x1.cf79abc9e3b3ap-40;
  const PackBits bits = reinterpret_cast<PackBits>(x);
  // An integer below 2^52 in the last bits of 2^52 is that many more.
  const Pack biased = reinterpret_cast<Pack>((bits >> 52) | 0x4330000000000000) - 0x1p52;
  const Pack fraction = reinterpret_cast<Pack>((bits & 0xfffffffffffff) | 0x3ff0000000000000);
  const auto large = fraction > fill(std::numbers::sqrt2);
  const Pack f = large ? fraction * .5 : fraction;
  const Pack exponent = large ? biased - 1022. : biased - 1023.;
  const Pack s = (f - 1.) / (f + 1.);
  const Pack square = s * s;
  Pack series = fill(2.0 / 21.0);
  for (int k = 19; k >= 1; k -= 2) series = multiply_add(series, square, fill(2.0 / k));
  return multiply_add(exponent, fill(kLog2High), multiply_add(exponent, fill(kLog2Low), s * series));
}

/// log(1 + e) for 0 <= e <= 1, given s = e / (2 + e): 2 atanh(s) by its power series.
inline Pack log1p_from(Pack s) {
  const Pack square = s * s;
  Pack series = fill(2.0 / 35.0);
  for (int k = 33; k >= 1; k -= 2) series = multiply_add(series, square, fill(2.0 / k));
  return s * series;
}

/// log(1 + exp(x)) and 1 / (1 + exp(-x)), stable for any x, from one exponential and one division.
struct Softplus {
  Pack value;
  Pack derivative;
};

inline Softplus softplus(Pack x) {
  const Pack one = fill(1.0);
  const Pack e = exp(-abs(x));
  const Pack u = one + e;
  const Pack v = one + u;
  const Pack d = one / (u * v);
  return {max(x, Pack{}) + log1p_from(e * (d * u)), (x > Pack{} ? one : e) * (d * v)};
}

}  // namespace magva::detail
