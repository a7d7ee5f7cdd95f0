#include "sd_for/diagonal_estimate.hpp"

#include <cmath>

#include "core/noise.hpp"

namespace magva {

DiagonalEstimator::DiagonalEstimator(const Gaussian& q, MatrixProduct product, std::uint64_t seed)
    : q_(q),
      product_(std::move(product)),
      seed_(seed),
      sum_(Vector::Zero(q.dimension())),
      squares_(Vector::Zero(q.dimension())) {}

bool DiagonalEstimator::add_probes(Index count) {
  for (Index k = 0; k < count; ++k) {
    Matrix noise(q_.dimension(), 1);
    Noise(seed_, NoiseStream::kRandomPoint).fill(0, static_cast<std::uint32_t>(probes_), noise);
    const Vector signs = (noise.col(0).array() < 0).select(-Vector::Ones(noise.rows()), 1.);
    const auto image = product_(signs);
    if (!image) return false;
    const Vector difference = signs.cwiseProduct(*image - q_.times(signs));
    sum_ += difference;
    squares_ += difference.cwiseAbs2();
    ++probes_;
  }
  return true;
}

DiagonalEstimate DiagonalEstimator::estimate() const {
  const auto n = static_cast<double>(probes_);
  const Vector mean = sum_ / n;
  const Vector variance = (squares_ / n - mean.cwiseAbs2()).cwiseMax(0) * n / (n - 1);
  return {q_.sd().cwiseAbs2() + mean, (variance / n).cwiseSqrt()};
}

}  // namespace magva
