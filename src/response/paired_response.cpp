#include "response/paired_response.hpp"

#include <Eigen/Cholesky>

#include <cmath>

#include "core/noise.hpp"

namespace magva {

namespace {

constexpr int kPowerIterations = 60;

/// G.
Matrix even_covariance(const GradientSample& sample) {
  return sample.even * sample.even.transpose() / static_cast<double>(sample.pairs() - 1);
}

std::optional<PairedResponse> response_given(const GradientSample& sample, const Matrix& taken,
                                             Matrix damping) {
  const Index m = sample.dimension();
  const Matrix identity = Matrix::Identity(m, m);
  const Eigen::LLT<Matrix> precision(identity - sample.excess - .5 * (taken + taken.transpose()));
  if (precision.info() != Eigen::Success) return std::nullopt;
  return PairedResponse{precision.solve(identity), std::move(damping)};
}

}  // namespace

LargestTaken largest_taken(const GradientSample& sample) {
  Matrix start(sample.dimension(), 1);
  Noise(1, NoiseStream::kRandomPoint).fill(0, 0, start);
  LargestTaken out{0, start.col(0).normalized()};
  for (int k = 0; k < kPowerIterations; ++k) {
    const Vector image =
        sample.even * (sample.even.transpose() * out.direction) / static_cast<double>(sample.pairs() - 1);
    out.value = image.norm();
    if (!(out.value > 0)) return out;
    out.direction = image / out.value;
  }
  return out;
}

std::optional<PairedResponse> paired_response(const GradientSample& sample, double bend) {
  const Index m = sample.dimension();
  const Matrix taken = even_covariance(sample);
  const Eigen::LLT<Matrix> damped(Matrix::Identity(m, m) + bend * taken);
  if (damped.info() != Eigen::Success) return std::nullopt;
  return response_given(sample, damped.solve(taken), damped.solve(Matrix::Identity(m, m)));
}

std::optional<PairedResponse> fixed_response(const GradientSample& sample) {
  const Matrix none = Matrix::Zero(sample.dimension(), sample.dimension());
  return response_given(sample, none, none);
}

// An error of the precision changes tilt' covariance tilt by that of x' precision x at x = covariance tilt;
// that of G counts by the derivative of G / (1 + bend G).
double response_se(const GradientSample& sample, const PairedResponse& response, const Vector& tilt) {
  const Vector x = response.covariance * tilt;
  const Vector damped = response.damping * x;
  const auto pairs = static_cast<double>(sample.pairs());
  const double inflation = std::sqrt(pairs / (pairs - static_cast<double>(sample.dimension())));
  const Vector linear = (sample.residual.transpose() * x).cwiseProduct(sample.noise.transpose() * x);
  const Vector forms = sample.share * inflation * linear + (sample.even.transpose() * damped).cwiseAbs2();
  return std::sqrt((forms.array() - forms.mean()).square().sum() / (pairs - 1) / pairs);
}

}  // namespace magva
