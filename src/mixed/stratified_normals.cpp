#include "mixed/stratified_normals.hpp"

#include <bit>

#include "posterior/normal_quantile.hpp"

namespace magva::mixed {

namespace {

/// The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
std::uint64_t mixed_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30U) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27U) * 0x94d049bb133111ebULL;
  return x ^ x >> 31U;
}

/// Where the permutation of 0, ..., count - 1 that the key names takes i (Kensler 2013, Correlated
/// Multi-Jittered Sampling): bits are mixed within the next power of two until they are below the count.
std::uint32_t permuted(std::uint32_t i, std::uint32_t count, std::uint32_t key) {
  const std::uint32_t mask = std::bit_ceil(count) - 1;
  do {
    i ^= key;
    i *= 0xe170893dU;
    i ^= key >> 16U;
    i ^= (i & mask) >> 4U;
    i ^= key >> 8U;
    i *= 0x0929eb3fU;
    i ^= key >> 23U;
    i ^= (i & mask) >> 1U;
    i *= 1U | key >> 27U;
    i *= 0x6935fa69U;
    i ^= (i & mask) >> 11U;
    i *= 0x74dcb303U;
    i ^= (i & mask) >> 2U;
    i *= 0x9e501cc3U;
    i ^= (i & mask) >> 2U;
    i *= 0xc860a3dfU;
    i &= mask;
    i ^= i >> 5U;
  } while (i >= count);
  return static_cast<std::uint32_t>((std::uint64_t{i} + key) % count);
}

}  // namespace

StratifiedNormals::StratifiedNormals(std::uint64_t seed, Index draws)
    : seed_(mixed_bits(seed)), draws_(static_cast<std::uint32_t>(draws)), edges_(draws + 1) {
  for (Index k = 1; k < draws; ++k)
    edges_(k) = normal_quantile(static_cast<double>(k) / static_cast<double>(draws));
}

double StratifiedNormals::quantile(std::uint32_t stratum, double share) const {
  if (stratum == 0 || stratum + 1 == draws_) return normal_quantile((stratum + share) / draws_);
  return edges_(stratum) + share * (edges_(stratum + 1) - edges_(stratum));
}

void StratifiedNormals::fill(Index draw, VectorRef out) const {
  const auto s = static_cast<std::uint32_t>(draw);
  for (Index i = 0; i < out.size(); ++i) {
    const std::uint64_t of_coordinate = mixed_bits(seed_ + static_cast<std::uint64_t>(i));
    const std::uint32_t stratum = permuted(s, draws_, static_cast<std::uint32_t>(of_coordinate));
    const auto bits = static_cast<double>(mixed_bits(of_coordinate + s) >> 12U);
    out(i) = quantile(stratum, (bits + .5) * 0x1p-52);
  }
}

}  // namespace magva::mixed
