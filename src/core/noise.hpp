#pragma once
// Counter-based standard normal noise: each number is a function of (seed, stream, iteration, draw,
// coordinate) alone. The same seed gives the same bits for any number of threads, and a resumed run continues
// the sequence.
#include <cstdint>

#include "magva/types.hpp"
#include "magva/workers.hpp"

namespace magva {

/// What the numbers are for: streams never share a counter.
enum class NoiseStream : std::uint32_t {
  kFit = 0,
  kEvaluation = 1,
  kPosteriorDraws = 2,
  kRandomPoint = 3,
  kStarts = 4,
  kMinibatch = 5,
  kFactors = 6,
};

class Noise {
 public:
  Noise(std::uint64_t seed, NoiseStream stream) : seed_(seed), stream_(stream) {}

  /// Column j of `out` gets the normals of draw `first_draw` + j, coordinate i in row i.
  void fill(std::uint64_t iteration, std::uint32_t first_draw, MatrixRef out) const;
  /// The same bits, spread over threads.
  void fill(std::uint64_t iteration, std::uint32_t first_draw, MatrixRef out, Workers& workers) const;
  /// The same bits, these coordinates of one draw alone: coordinate i goes to column[i].
  void fill_rows(std::uint64_t iteration, std::uint32_t draw, Range rows, double* column) const;

 private:
  std::uint64_t seed_;
  NoiseStream stream_;
};

}  // namespace magva
