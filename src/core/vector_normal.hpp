#pragma once
// Philox and Box-Muller for a vector of counters at a time: the bits of Random123's Philox4x32, which a test
// compares.
#include <Random123/philox.h>

#include "core/vector_math.hpp"

namespace magva::detail {

typedef std::uint64_t VecWords __attribute__((vector_size(kVecBytes)));

/// A vector of 32-bit words in 64-bit lanes, whose upper halves may hold anything.
struct PhiloxWords {
  VecWords word[4];
};

/// The 64-bit products of the lower halves.
inline VecWords multiply_low(VecWords a, VecWords b) {
#if defined(__AVX512F__)
  return reinterpret_cast<VecWords>(
      _mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<VecWords>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return (a & 0xffffffffU) * (b & 0xffffffffU);
#endif
}

/// Salmon, Moraes, Dror & Shaw (2011), ten rounds.
inline PhiloxWords philox(PhiloxWords counter, std::uint32_t key0, std::uint32_t key1) {
  const VecWords multiplier0 = VecWords{} + PHILOX_M4x32_0;
  const VecWords multiplier1 = VecWords{} + PHILOX_M4x32_1;
  auto& w = counter.word;
  for (int round = 0; round < 10; ++round) {
    const VecWords product0 = multiply_low(multiplier0, w[0]);
    const VecWords product1 = multiply_low(multiplier1, w[2]);
    w[0] = (product1 >> 32U) ^ w[1] ^ (VecWords{} + key0);
    w[1] = product1;
    w[2] = (product0 >> 32U) ^ w[3] ^ (VecWords{} + key1);
    w[3] = product0;
    key0 += PHILOX_W32_0;
    key1 += PHILOX_W32_1;
  }
  return counter;
}

/// Uniform on (0, 1): 52 random bits and a half, so that neither end is reached.
inline Vec uniform(VecWords high, VecWords low) {
  const VecWords bits = (high << 20U) & 0xffffffff00000U;
  const VecWords rest = (low >> 12U) & 0xfffffU;
  const VecWords one = VecWords{} + 0x3ff0000000000000U;
  return (reinterpret_cast<Vec>(bits | rest | one) - 1.0) + 0x1p-53;
}

struct NormalPair {
  Vec first, second;
};

/// Box and Muller (1958): radius sqrt(-2 log u), angle 2 pi v, taken from the nearest quarter turn, where the
/// Taylor series of sine and cosine leave a remainder below 1e-16.
inline NormalPair box_muller(Vec u, Vec v) {
  constexpr double kRound = 0x1.8p52;  // added, it leaves a whole number in the last bits
  const Vec turns = 4.0 * v;
  const Vec shifted = turns + kRound;
  const VecBits quadrant = reinterpret_cast<VecBits>(shifted);
  const Vec x = (turns - (shifted - kRound)) * (std::numbers::pi / 2);
  const Vec y = x * x;
  Vec sine = set(-1 / 1307674368000.);
  for (const double c : {1 / 6227020800., -1 / 39916800., 1 / 362880., -1 / 5040., 1 / 120., -1 / 6., 1.})
    sine = multiply_add(sine, y, set(c));
  sine *= x;
  Vec cosine = set(1 / 20922789888000.);
  for (const double c :
       {-1 / 87178291200., 1 / 479001600., -1 / 3628800., 1 / 40320., -1 / 720., 1 / 24., -1 / 2., 1.})
    cosine = multiply_add(cosine, y, set(c));
  const auto odd = (quadrant & 1) != 0;
  const VecBits sign_of_cosine = ((quadrant + 1) & 2) << 62;
  const VecBits sign_of_sine = (quadrant & 2) << 62;
  const Vec radius = sqrt(-2.0 * log(u));
  const auto with_sign = [](Vec a, VecBits sign) {
    return reinterpret_cast<Vec>(reinterpret_cast<VecBits>(a) ^ sign);
  };
  return {radius * with_sign(odd ? sine : cosine, sign_of_cosine),
          radius * with_sign(odd ? cosine : sine, sign_of_sine)};
}

}  // namespace magva::detail
