#pragma once
// exp, log and what is made of them, for a vector of numbers.
#include <algorithm>
#include <array>
#include <bit>
#include <numbers>

#include "core/vector.hpp"

namespace magva::detail {

#if defined(__AVX512F__)
inline constexpr int kExpParts = 16;  // of a factor of two: the powers between are in two registers
inline constexpr int kExpDegree = 6;
inline Vec power_between(VecBits part) {
  constexpr Vec kFirst = {0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0,
                          0x1.2387a6e756238p+0, 0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0,
                          0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0};
  constexpr Vec kSecond = {0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0,
                           0x1.9c49182a3f090p+0, 0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0,
                           0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0};
  return _mm512_permutex2var_pd(kFirst, reinterpret_cast<__m512i>(part), kSecond);
}
#else
inline constexpr int kExpParts = 1;
inline constexpr int kExpDegree = 11;
inline Vec power_between(VecBits) { return set(1.0); }
#endif

/// The power series of exp(x) up to x^kExpDegree, with the two terms that would follow made up for by
/// multiples of Chebyshev polynomials T_n(x / range), n the term's degree.
constexpr std::array<double, kExpDegree + 1> exp_coefficients(double range) {
  std::array<double, kExpDegree + 3> series{1.0};
  for (std::size_t k = 1; k < series.size(); ++k) series[k] = series[k - 1] / static_cast<double>(k);
  for (int n = kExpDegree + 2; n > kExpDegree; --n) {
    double term = series[static_cast<std::size_t>(n)];
    for (int k = n; k >= 2; k -= 2) {
      // The coefficients of y^k and y^(k - 2) in T_n(y) have the ratio -(n^2 - (k - 2)^2) / (k (k - 1)).
      term *= -k * (k - 1.0) / (n * n - (k - 2.0) * (k - 2.0)) * range * range;
      series[static_cast<std::size_t>(k - 2)] -= term;
    }
  }
  std::array<double, kExpDegree + 1> coefficients{};
  std::copy_n(series.begin(), coefficients.size(), coefficients.begin());
  return coefficients;
}

/// exp(x) by a polynomial around the nearest multiple of log(2) / kExpParts: relative error below 2^-51.
/// Results stay normal numbers: below -708 it is exp(-708), above 709 exp(709). Not a number stays so. Each
/// step of the polynomial waits for the one before: several vectors at once keep the processor busy
/// meanwhile.
template <int N>
[[gnu::always_inline]] inline void exp_each(Vec (&x)[N]) {
  constexpr double kRound = 0x1.8p52;  // added, it leaves a whole number in the last bits
  constexpr double kStepHigh = 0x1.62e42fefa0000p-1 / kExpParts;
  constexpr double kStepLow = 0x1.cf79abc9e3b3ap-40 / kExpParts;
  constexpr auto kCoefficients = exp_coefficients(.5 * std::numbers::ln2 / kExpParts);
  Vec shifted[N];
  Vec r[N];
  Vec series[N];
  unroll<N>([&](auto i) __attribute__((always_inline)) {
    const Vec bounded = max(set(-708.0), min(set(709.0), x[i]));
    shifted[i] = multiply_add(bounded, set(kExpParts / std::numbers::ln2), set(kRound));
    const Vec n = shifted[i] - kRound;
    r[i] = multiply_add(n, set(-kStepLow), multiply_add(n, set(-kStepHigh), bounded));
    series[i] = set(kCoefficients[kExpDegree]);
  });
  unroll<kExpDegree - 1>([&](auto k) __attribute__((always_inline)) {
    unroll<N>([&](auto i) __attribute__((always_inline)) {
      series[i] = multiply_add(series[i], r[i], set(kCoefficients[kExpDegree - 1 - k]));
    });
  });
  unroll<N>([&](auto i) __attribute__((always_inline)) {
    const VecBits bits = reinterpret_cast<VecBits>(shifted[i]);
    const Vec between = power_between(bits);
    const Vec fraction = multiply_add(between, series[i] * r[i], between);
    const VecBits whole = (bits & -kExpParts) << (52 - std::bit_width(kExpParts - 1U));
    x[i] = reinterpret_cast<Vec>(reinterpret_cast<VecBits>(fraction) + whole);
  });
}

inline Vec exp(Vec x) {
  Vec one[1] = {x};
  exp_each(one);
  return one[0];
}

/// log(x) for a positive normal x: its exponent, and 2 atanh((f - 1) / (f + 1)) by its power series for the
/// fraction f between sqrt(1/2) and sqrt(2). Relative error below 2^-51.
inline Vec log(Vec x) {
  constexpr double kLog2High = 0x1.62e42fefa0000p-1;
  constexpr double kLog2Low = 0x1.cf79abc9e3b3ap-40;
  const VecBits bits = reinterpret_cast<VecBits>(x);
  // An integer below 2^52 in the last bits of 2^52 is that many more.
  const Vec biased = reinterpret_cast<Vec>((bits >> 52) | 0x4330000000000000) - 0x1p52;
  const Vec fraction = reinterpret_cast<Vec>((bits & 0xfffffffffffff) | 0x3ff0000000000000);
  const auto large = fraction > set(std::numbers::sqrt2);
  const Vec f = large ? fraction * .5 : fraction;
  const Vec exponent = large ? biased - 1022. : biased - 1023.;
  const Vec s = (f - 1.) / (f + 1.);
  const Vec square = s * s;
  Vec series = set(2.0 / 21.0);
  for (int k = 19; k >= 1; k -= 2) series = multiply_add(series, square, set(2.0 / k));
  return multiply_add(exponent, set(kLog2High), multiply_add(exponent, set(kLog2Low), s * series));
}

/// log(1 + e) for 0 <= e <= 1, given s = e / (2 + e): 2 atanh(s) by its power series.
inline Vec log1p_from(Vec s) {
  const Vec square = s * s;
  Vec series = set(2.0 / 35.0);
  for (int k = 33; k >= 1; k -= 2) series = multiply_add(series, square, set(2.0 / k));
  return s * series;
}

/// log(1 + exp(x)) and 1 / (1 + exp(-x)), stable for any x, from one exponential and one division.
struct Softplus {
  Vec value;
  Vec derivative;
};

inline Softplus softplus(Vec x) {
  const Vec one = set(1.0);
  const Vec e = exp(-abs(x));
  const Vec u = one + e;
  const Vec v = one + u;
  const Vec d = one / (u * v);
  return {max(x, Vec{}) + log1p_from(e * (d * u)), (x > Vec{} ? one : e) * (d * v)};
}

}  // namespace magva::detail
