#include "magva/noise.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace magva {

namespace {

constexpr Index kPairs = 128;  // pairs of normals a batch: its buffers stay in the first-level cache
constexpr Index kRowsPerTask = 1 << 15;
constexpr Index kMaxTasks = 64;

using Buffer = Eigen::Array<double, kPairs, 1>;

// Uniform on (0, 1): 52 random bits and a half, so that neither end is reached.
double uniform(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = ((static_cast<std::uint64_t>(high) << 32U) | low) >> 12U;
  return (static_cast<double>(bits) + .5) * 0x1p-52;
}

// sin and cos of a quarter turn times f, |f| <= 1/2, by Taylor series: the remainder is below 1e-16.
struct SinCos {
  double sin, cos;
};
SinCos quarter_turn(double f) {
  const double x = f * (std::numbers::pi / 2);
  const double y = x * x;
  double s = -1 / 1307674368000.;
  for (const double c : {1 / 6227020800., -1 / 39916800., 1 / 362880., -1 / 5040., 1 / 120., -1 / 6., 1.})
    s = s * y + c;
  double c = 1 / 20922789888000.;
  for (const double k :
       {-1 / 87178291200., 1 / 479001600., -1 / 3628800., 1 / 40320., -1 / 720., 1 / 24., -1 / 2., 1.})
    c = c * y + k;
  return {s * x, c};
}

// Box and Muller (1958): radius sqrt(-2 log u), angle 2 pi v.
void box_muller(Buffer& u, Buffer& v) {
  u = (-2 * u.log()).sqrt();
  for (Index i = 0; i < kPairs; ++i) {
    const double turns = 4 * v(i);
    const double quadrant = std::floor(turns + .5);
    const SinCos q = quarter_turn(turns - quadrant);
    const int k = static_cast<int>(quadrant) & 3;
    const double cosine = (k & 1) ? q.sin : q.cos;
    const double sine = (k & 1) ? q.cos : q.sin;
    const double radius = u(i);
    u(i) = radius * ((k == 1 || k == 2) ? -cosine : cosine);
    v(i) = radius * ((k & 2) ? -sine : sine);
  }
}

}  // namespace

void Noise::fill_rows(std::uint64_t iteration, std::uint32_t draw, Range rows, double* column) const {
  r123::Philox4x32 philox;
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U)}};
  // 56 bits of iteration and 8 of stream share two words of the counter.
  const auto low = static_cast<std::uint32_t>(iteration);
  const auto high = static_cast<std::uint32_t>((iteration >> 32U) & 0xffffffU) |
                    (static_cast<std::uint32_t>(stream_) << 24U);
  Buffer u;
  Buffer v;
  for (Index first = rows.begin; first < rows.end; first += 2 * kPairs) {
    const Index count = std::min(2 * kPairs, rows.end - first);
    const Index pairs = (count + 1) / 2;
    const auto counter = static_cast<std::uint32_t>(first / 2);
    for (Index i = 0; i < pairs; ++i) {
      const auto bits = philox({{counter + static_cast<std::uint32_t>(i), draw, low, high}}, key);
      u(i) = uniform(bits[0], bits[1]);
      v(i) = uniform(bits[2], bits[3]);
    }
    u.tail(kPairs - pairs).setConstant(.5);
    v.tail(kPairs - pairs).setConstant(.5);
    box_muller(u, v);
    for (Index i = 0; i < count; ++i) column[first + i] = (i & 1) ? v(i / 2) : u(i / 2);
  }
}

void Noise::fill(std::uint64_t iteration, std::uint32_t first_draw, MatrixRef out) const {
  for (Index j = 0; j < out.cols(); ++j)
    fill_rows(iteration, first_draw + static_cast<std::uint32_t>(j), {0, out.rows()}, out.col(j).data());
}

void Noise::fill(std::uint64_t iteration, std::uint32_t first_draw, MatrixRef out, Workers& workers) const {
  const Index strips = std::clamp<Index>(out.rows() / kRowsPerTask, 1, kMaxTasks);
  const Index strip = ((out.rows() + strips - 1) / strips + 2 * kPairs - 1) / (2 * kPairs) * (2 * kPairs);
  workers.run(strips * out.cols(), [&](Index task) {
    const Index j = task / strips;
    const Index begin = std::min(out.rows(), task % strips * strip);
    fill_rows(iteration, first_draw + static_cast<std::uint32_t>(j),
              {begin, std::min(out.rows(), begin + strip)}, out.col(j).data());
  });
}

}  // namespace magva
