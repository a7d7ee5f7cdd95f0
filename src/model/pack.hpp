#pragma once
// A register full of doubles, as wide as the processor's, and the functions on it that the models are made
// of.
#if defined(__FMA__)
#include <immintrin.h>
#endif

#include <cstring>
#include <type_traits>

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

/// The first n numbers, then `filler`.
inline Pack load_some(const double* from, Index n, double filler) {
  double numbers[kWidth<Pack>];
  for (Index i = 0; i < kWidth<Pack>; ++i) numbers[i] = i < n ? from[i] : filler;
  return load(numbers);
}

inline void store_some(double* to, Index n, Pack value) {
  double numbers[kWidth<Pack>];
  store(numbers, value);
  for (Index i = 0; i < n; ++i) to[i] = numbers[i];
}

template <class P = Pack>
inline P fill(double value) {
  return value - P{};
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

using PackArray = Eigen::Array<double, kWidth<Pack>, 1>;
using PackMap = Eigen::Map<PackArray, Eigen::AlignedMax>;

inline Pack exp(Pack x) {
  PackMap(reinterpret_cast<double*>(&x)) = PackMap(reinterpret_cast<double*>(&x)).exp();
  return x;
}

inline Pack log(Pack x) {
  PackMap(reinterpret_cast<double*>(&x)) = PackMap(reinterpret_cast<double*>(&x)).log();
  return x;
}

inline Pack max(Pack a, Pack b) { return a > b ? a : b; }
inline Pack abs(Pack x) { return max(x, -x); }

/// Adjacent numbers first, then adjacent pairs, and so on: the order of add_up_each too.
inline double add_up(double x) { return x; }
inline double add_up(Pack x) {
  double numbers[kWidth<Pack>];
  store(numbers, x);
  for (Index n = kWidth<Pack> / 2; n > 0; n /= 2)
    for (Index i = 0; i < n; ++i) numbers[i] = numbers[2 * i] + numbers[2 * i + 1];
  return numbers[0];
}

/// out[i] = add_up(packs[i]).
template <int N, class P>
inline void add_up_each(const P* packs, double* out) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<P, Pack> && N % 8 == 0) {
    const auto pairs = [](Pack a, Pack b) {
      return __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14) +
             __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15);
    };
    const auto fours = [&](const Pack* p) {
      const Pack a = pairs(p[0], p[1]);
      const Pack b = pairs(p[2], p[3]);
      return __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13) +
             __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    };
    for (int i = 0; i < N; i += 8) {
      const Pack a = fours(packs + i);
      const Pack b = fours(packs + i + 4);
      store(out + i, __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
                         __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15));
    }
    return;
  }
#endif
  for (int i = 0; i < N; ++i) out[i] = add_up(packs[i]);
}

/// log(1 + exp(x)) and 1 / (1 + exp(-x)), stable for any x, from one exponential.
struct Softplus {
  Pack value;
  Pack derivative;
};

inline Softplus softplus(Pack x) {
  const Pack one = fill(1.0);
  const Pack e = exp(-abs(x));
  const Pack u = one + e;
  const Pack r = one / u;
  // log(u) + (e - (u - 1)) / u: the rounding error of u, given back.
  return {max(x, Pack{}) + log(u) + (e - (u - one)) * r, (x > Pack{} ? one : e) * r};
}

}  // namespace magva::detail
