#include "response/paired_response.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
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
                                             Matrix damping, double scale) {
  const Index m = sample.dimension();
  const Matrix identity = Matrix::Identity(m, m);
  const Eigen::LLT<Matrix> precision(identity - sample.shrunk_excess() - .5 * (taken + taken.transpose()));
  if (precision.info() != Eigen::Success) return std::nullopt;
  return PairedResponse{precision.solve(identity), std::move(damping), scale};
}

std::optional<PairedResponse> scaled_response(const GradientSample& sample, double scale, double bend) {
  const Index m = sample.dimension();
  const Matrix taken = scale * even_covariance(sample);
  const Eigen::LLT<Matrix> damped(Matrix::Identity(m, m) + bend * taken);
  if (damped.info() != Eigen::Success) return std::nullopt;
  return response_given(sample, damped.solve(taken), damped.solve(Matrix::Identity(m, m)), scale);
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

// The inverse of I less a covariance from few draws is too large: as if the covariance were larger by the
// factor 1 + tr(G (I - G)^-1) / draws (of the resolvent of a sample covariance; Silverstein and Bai 1995).
std::optional<PairedResponse> paired_response(const GradientSample& sample, double share, double bend) {
  const auto first = scaled_response(sample, share, bend);
  if (!first) return std::nullopt;
  const double gained = first->covariance.trace() - static_cast<double>(sample.dimension());
  const double larger = 1 + std::max(0., (1 - bend) * gained / static_cast<double>(sample.pairs()));
  return scaled_response(sample, share / larger, bend);
}

std::optional<PairedResponse> paired_response(const GradientSample& sample, const TakenPrecision& probe) {
  return paired_response(sample, probe.leading / (probe.leading + probe.higher),
                         (probe.leading / probe.whole - 1) / probe.leading);
}

std::optional<PairedResponse> fixed_response(const GradientSample& sample) {
  const Matrix none = Matrix::Zero(sample.dimension(), sample.dimension());
  return response_given(sample, none, none, 0);
}

// An error of the precision changes tilt' covariance tilt by that of x' precision x at x = covariance tilt;
// that of G counts by the derivative of G / (1 + bend G).
double response_se(const GradientSample& sample, const PairedResponse& response, const Vector& tilt) {
  const Vector x = response.covariance * tilt;
  const Vector damped = response.damping * x;
  const auto pairs = static_cast<double>(sample.pairs());
  const double inflation = std::sqrt(pairs / (pairs - static_cast<double>(sample.dimension())));
  const Vector all = (sample.residual.transpose() * x).cwiseProduct(sample.noise.transpose() * x);
  const Vector diagonal = sample.residual.cwiseProduct(sample.noise).transpose() * x.cwiseAbs2();
  const Vector linear = sample.other_share * (all - diagonal) + sample.diagonal_share * diagonal;
  const Vector forms = inflation * linear + response.scale * (sample.even.transpose() * damped).cwiseAbs2();
  return std::sqrt((forms.array() - forms.mean()).square().sum() / (pairs - 1) / pairs);
}

}  // namespace magva
