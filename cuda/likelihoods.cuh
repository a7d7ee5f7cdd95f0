#pragma once
// Likelihoods of one observation at a linear predictor, and their expectations under a normal predictor.
#include "magva_cuda.h"

namespace magva_cuda {

/// log p(y | eta) without its constant, its derivative by eta, and by log sigma.
template <class Real>
struct Point {
  Real value, residual, by_log_scale;
};

/// For arguments up to 0; in single precision by the fast instructions, whose errors are below 1e-7.
__device__ inline float exp_of_negative(float x) { return __expf(x); }
__device__ inline double exp_of_negative(double x) { return exp(x); }
/// For arguments from 0 to 1.
__device__ inline float log_of_one_plus(float x) { return __logf(1 + x); }
__device__ inline double log_of_one_plus(double x) { return log1p(x); }

template <class Real>
__device__ inline Point<Real> point(int likelihood, Real eta, Real y, Real precision, Real log_scale) {
  if (likelihood == MAGVA_CUDA_BERNOULLI_LOGIT) {
    const Real e = exp_of_negative(-fabs(eta));
    return {y * eta - fmax(eta, Real(0)) - log_of_one_plus(e), y - (eta > 0 ? Real(1) : e) / (1 + e), Real(0)};
  }
  if (likelihood == MAGVA_CUDA_POISSON_LOG) {
    const Real rate = exp(eta);
    return {y * eta - rate, y - rate, Real(0)};
  }
  const Real scaled = (y - eta) * precision;
  const Real square = (y - eta) * scaled;
  return {Real(-0.5) * square - log_scale, scaled, square - 1};
}

struct LogisticNormal {
  double value, slope, curvature;
};

/// E log(1 + exp(x)) and its first two derivatives by the mean, x ~ N(mean, sd^2), by the midpoint rule. Where the integrand's poles, at
/// i pi / sd, are far, the error is that of the normal density itself, exp(-2 pi^2 / spacing^2); else exp(-2 pi^2 / (sd spacing) +
/// pi^2 / (2 sd^2)); both are below exp(-28). Beyond sd 1000 two terms of the expansion in 1 / sd are as exact.
__device__ inline LogisticNormal logistic_normal(double mean, double sd) {
  constexpr double kPi2 = 9.869604401089358;
  constexpr double kReach = 7.6;
  if (sd > 1000) {
    const double u = mean / sd;
    const double density = exp(-.5 * u * u) * 0.3989422804014327;
    const double below = .5 * erfc(-u * 0.7071067811865476);
    const double p = density / sd;
    return {mean * below + sd * density + kPi2 / 6 * p, below - kPi2 / 6 * p * u / sd, p};
  }
  const double spacing = sd < .39 ? .78 : fmin(.78, 2 * kPi2 / (28 * sd + .5 * kPi2 / sd));
  LogisticNormal sum{0, 0, 0};
  double total = 0;
  for (double z = .5 * spacing; z < kReach; z += spacing) {
    const double weight = exp(-.5 * z * z);
    total += 2 * weight;
    for (int side = -1; side <= 1; side += 2) {
      const double x = mean + side * sd * z;
      const double e = exp(-fabs(x));
      const double inverse = 1 / (1 + e);
      sum.value += weight * (fmax(x, 0.) + log1p(e));
      sum.slope += weight * (x > 0 ? inverse : e * inverse);
      sum.curvature += weight * e * inverse * inverse;
    }
  }
  return {sum.value / total, sum.slope / total, sum.curvature / total};
}

/// A weighted row: expected log likelihood; its derivatives by the predictor's mean, minus twice that by its variance, minus that by its
/// covariance with log sigma; and by the mean of log sigma and minus twice that by its variance.
struct ExpectedPoint {
  double value, slope, curvature, cross, own_slope, own_curvature;
};

struct OwnMarginal {
  double mean, variance;
  bool known;  ///< sigma is, and exp(mean) it is
};

__device__ inline ExpectedPoint expected_point(int likelihood, double mean, double variance, double covariance, double y, double w,
                                               OwnMarginal own) {
  if (likelihood == MAGVA_CUDA_BERNOULLI_LOGIT) {
    const LogisticNormal at = logistic_normal(mean, sqrt(variance));
    return {w * (y * mean - at.value), w * (y - at.slope), w * at.curvature, 0, 0, 0};
  }
  if (likelihood == MAGVA_CUDA_POISSON_LOG) {
    const double rate = w > 0 ? w * exp(mean + .5 * variance) : 0;
    return {w * y * mean - rate, w * y - rate, rate, 0, 0, 0};
  }
  // E[exp(-2 s) (y - eta)^2] = exp(-2 E s + 2 Var s) ((y - E eta + 2 Cov(eta, s))^2 + Var eta).
  const double curvature = w * exp(-2 * own.mean + (own.known ? 0 : 2 * own.variance));
  const double residual = y - mean + 2 * covariance;
  const double square = curvature * (residual * residual + variance);
  return {-.5 * square - w * own.mean, curvature * residual, curvature, 2 * curvature * residual, square - w, 2 * square};
}

}  // namespace magva_cuda
