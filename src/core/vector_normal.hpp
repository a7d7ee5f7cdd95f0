#pragma once
// Philox and Box-Muller for a pack of counters at a time: the bits of Random123's Philox4x32, which a test
// compares.
#include <Random123/philox.h>

#include "core/vector_math.hpp"

namespace magva::detail {

typedef std::uint64_t PackWords __attribute__((vector_size(kPackBytes)));

/// A pack of 32-bit words in 64-bit lanes, whose upper halves may hold anything.
struct PhiloxWords {
  PackWords word[4];
};

/// The 64-bit products of the lower halves.
inline PackWords multiply_low(PackWords a, PackWords b) {
#if defined(__AVX512F__)
  return reinterpret_cast<PackWords>(
      _mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<PackWords>(
      _mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#else
  return (a & 0xffffffffU) * (b & 0xffffffffU);
#endif
}

/// Salmon, Moraes, Dror & Shaw (2011), ten rounds.
inline PhiloxWords philox(PhiloxWords counter, std::uint32_t key0, std::uint32_t key1) {
  const PackWords multiplier0 = PackWords{} + PHILOX_M4x32_0;
  const PackWords multiplier1 = PackWords{} + PHILOX_M4x32_1;
  auto& w = counter.word;
  for (int round = 0; round < 10; ++round) {
    const PackWords product0 = multiply_low(multiplier0, w[0]);
    const PackWords product1 = multiply_low(multiplier1, w[2]);
    w[0] = (product1 >> 32U) ^ w[1] ^ (PackWords{} + key0);
    w[1] = product1;
    w[2] = (product0 >> 32U) ^ w[3] ^ (PackWords{} + key1);
    w[3] = product0;
    key0 += PHILOX_W32_0;
    key1 += PHILOX_W32_1;
  }
  return counter;
}

/// Uniform on (0, 1): 52 random bits and a half, so that neither end is reached.
inline Pack uniform(PackWords high, PackWords low) {
  const PackWords bits = (high << 20U) & 0xffffffff00000U;
  const PackWords rest = (low >> 12U) & 0xfffffU;
  const PackWords one = PackWords{} + 0x3ff0000000000000U;
  return (reinterpret_cast<Pack>(bits | rest | one) - 1.0) + 0x1p-53;
}

struct NormalPair {
  Pack first, second;
};

/// Box and Muller (1958): radius sqrt(-2 log u), angle 2 pi v, taken from the nearest quarter turn, where the
/// Taylor series of sine and cosine leave a remainder below 1e-16.
inline NormalPair box_muller(Pack u, Pack v) {
  constexpr double kRound = 0x1.8p52;  // added, it leaves a whole number in the last bits
  const Pack turns = 4.0 * v;
  const Pack shifted = turns + kRound;
  const PackBits quadrant = reinterpret_cast<PackBits>(shifted);
  const Pack x = (turns - (shifted - kRound)) * (std::numbers::pi / 2);
  const Pack y = x * x;
  Pack sine = fill(-1 / 1307674368000.);
  for (const double c : {1 / 6227020800., -1 / 39916800., 1 / 362880., -1 / 5040., 1 / 120., -1 / 6., 1.})
    sine = multiply_add(sine, y, fill(c));
  sine *= x;
  Pack cosine = fill(1 / 20922789888000.);
  for (const double c :
       {-1 / 87178291200., 1 / 479001600., -1 / 3628800., 1 / 40320., -1 / 720., 1 / 24., -1 / 2., 1.})
    cosine = multiply_add(cosine, y, fill(c));
  const auto odd = (quadrant & 1) != 0;
  const PackBits sign_of_cosine = ((quadrant + 1) & 2) << 62;
  const PackBits sign_of_sine = (quadrant & 2) << 62;
  const Pack radius = root(-2.0 * log(u));
  const auto with_sign = [](Pack a, PackBits sign) {
    return reinterpret_cast<Pack>(reinterpret_cast<PackBits>(a) ^ sign);
  };
  return {radius * with_sign(odd ? sine : cosine, sign_of_cosine),
          radius * with_sign(odd ? cosine : sine, sign_of_sine)};
}

}  // namespace magva::detail
