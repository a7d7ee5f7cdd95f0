#include "core/noise.hpp"

#include <algorithm>

#include "core/vector_normal.hpp"

namespace magva {

namespace {

using detail::kLanes;
using detail::Vec;
using detail::VecWords;

constexpr Index kStrip = 256;  // strips of rows that tasks take begin at multiples of this
constexpr Index kRowsPerTask = 1 << 15;
constexpr Index kMaxTasks = 64;

VecWords consecutive() {
  VecWords out{};
  for (int i = 0; i < kLanes<Vec>; ++i) out[i] = static_cast<std::uint64_t>(i);
  return out;
}

// Pair i goes to rows 2 i and 2 i + 1, of which there are `count` or more than a vector's worth.
void store_pairs(const detail::NormalPair& pairs, Index count, double* to) {
#if defined(__AVX512F__)
  const auto& [a, b] = pairs;
  detail::masked_store(to, std::min(count, kLanes<Vec>),
                       __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
  detail::masked_store(to + kLanes<Vec>, std::clamp<Index>(count - kLanes<Vec>, 0, kLanes<Vec>),
                       __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15));
#else
  for (Index i = 0; i < std::min(count, 2 * kLanes<Vec>); ++i)
    to[i] = (i & 1) ? pairs.second[i / 2] : pairs.first[i / 2];
#endif
}

}  // namespace

void Noise::fill_rows(std::uint64_t iteration, std::uint32_t draw, Range rows, double* column) const {
  // 56 bits of iteration and 8 of stream share two words of the counter.
  const auto high = static_cast<std::uint32_t>((iteration >> 32U) & 0xffffffU) |
                    (static_cast<std::uint32_t>(stream_) << 24U);
  detail::PhiloxWords counter{{consecutive() + static_cast<std::uint64_t>(rows.begin / 2), VecWords{} + draw,
                               VecWords{} + static_cast<std::uint32_t>(iteration), VecWords{} + high}};
  const auto key_low = static_cast<std::uint32_t>(seed_);
  const auto key_high = static_cast<std::uint32_t>(seed_ >> 32U);
  const auto pairs = [&] {
    const detail::PhiloxWords bits = detail::philox(counter, key_low, key_high);
    return detail::box_muller(detail::uniform(bits.word[0], bits.word[1]),
                              detail::uniform(bits.word[2], bits.word[3]));
  };
  Index first = rows.begin;
  if (first % 2 == 1 && first < rows.end) {
    column[first++] = pairs().second[0];
    counter.word[0] += 1;
  }
  for (; first < rows.end; first += 2 * kLanes<Vec>) {
    store_pairs(pairs(), rows.end - first, column + first);
    counter.word[0] += static_cast<std::uint64_t>(kLanes<Vec>);
  }
}

void Noise::fill(std::uint64_t iteration, std::uint32_t first_draw, MatrixRef out) const {
  for (Index j = 0; j < out.cols(); ++j)
    fill_rows(iteration, first_draw + static_cast<std::uint32_t>(j), {0, out.rows()}, out.col(j).data());
}

void Noise::fill(std::uint64_t iteration, std::uint32_t first_draw, MatrixRef out, Workers& workers) const {
  const Index strips = std::clamp<Index>(out.rows() / kRowsPerTask, 1, kMaxTasks);
  const Index strip = ((out.rows() + strips - 1) / strips + kStrip - 1) / kStrip * kStrip;
  workers.run(strips * out.cols(), [&](Index task) {
    const Index j = task / strips;
    const Index begin = std::min(out.rows(), task % strips * strip);
    fill_rows(iteration, first_draw + static_cast<std::uint32_t>(j),
              {begin, std::min(out.rows(), begin + strip)}, out.col(j).data());
  });
}

}  // namespace magva
