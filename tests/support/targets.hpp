#pragma once
// Posteriors for tests: a Gaussian with a known answer, and a small logistic regression written in the
// plainest way.
#include <Eigen/LU>
#include <cmath>
#include <numbers>

#include "core/noise.hpp"
#include "magva/model.hpp"

namespace magva::test {

inline Matrix random_matrix(Index rows, Index cols, std::uint64_t seed) {
  Matrix out(rows, cols);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, out);
  return out;
}

inline Matrix random_precision(Index m, std::uint64_t seed) {
  const Matrix x = random_matrix(2 * m, m, seed);
  return x.transpose() * x + .1 * Matrix::Identity(m, m);
}

/// log h = log N(theta; mean, covariance) + log_evidence.
inline auto gaussian_target(const Vector& mean, const Matrix& covariance, double log_evidence) {
  const Matrix precision = covariance.inverse();
  const double constant = log_evidence - .5 * std::log((2 * std::numbers::pi * covariance).determinant());
  return make_model(mean.size(), [=](ConstVectorRef theta, VectorRef gradient) {
    gradient = precision * (mean - theta);
    return constant + .5 * gradient.dot(theta - mean);
  });
}

/// Logistic regression with labels +-1 and N(0, v) priors.
inline auto logistic_target(const Matrix& x, const Vector& y, double v) {
  return make_model(x.cols(), [=](ConstVectorRef theta, VectorRef gradient) {
    const double m = static_cast<double>(theta.size());
    double log_h = -.5 * theta.squaredNorm() / v - m / 2 * std::log(2 * std::numbers::pi * v);
    gradient = -theta / v;
    for (Index i = 0; i < x.rows(); ++i) {
      const double margin = y(i) * x.row(i).dot(theta);
      log_h -= margin > 0 ? std::log1p(std::exp(-margin)) : -margin + std::log1p(std::exp(margin));
      gradient += x.row(i).transpose() * (y(i) / (1 + std::exp(margin)));
    }
    return log_h;
  });
}

inline Vector random_labels(Index n, std::uint64_t seed) { return random_matrix(n, 1, seed).cwiseSign(); }

}  // namespace magva::test
