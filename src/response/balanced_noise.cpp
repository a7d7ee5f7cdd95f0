#include "response/balanced_noise.hpp"

#include <Eigen/Cholesky>

#include "core/noise.hpp"

namespace magva {

namespace {

void whiten(Matrix& z) {
  const Matrix moments = z * z.transpose() / static_cast<double>(z.cols());
  moments.llt().matrixL().solveInPlace(z);
}

}  // namespace

// Twice, as the first time leaves rounding where there are hardly more draws than dimensions.
Matrix balanced_noise(Index dimension, Index draws, std::uint64_t seed) {
  Matrix z(dimension, draws);
  Noise(seed, NoiseStream::kEvaluation).fill(0, 0, z);
  if (draws < dimension) return z;
  whiten(z);
  whiten(z);
  return z;
}

}  // namespace magva
