#pragma once
// Response families beyond the three of likelihoods.cuh, row by row and in double precision: log p(y | eta) with its derivatives, and
// their expectations under a normal eta. The formulas are those of src/models/*_families.cpp.
#include <cstdint>

#include "likelihoods.cuh"

namespace magva_cuda {

struct FamilyRow {
  double y, event;  // 1, or 0 if the row is censored
};

/// log p without its constant and its derivatives by eta and by the family's own coordinates, the logarithms of its parameters; second
/// derivatives by the first of these alone.
struct FamilyPoint {
  double value = 0, by_eta = 0, by_own = 0, by_second = 0;
  double by_eta2 = 0, by_eta_own = 0, by_own2 = 0;
};

/// For x > 0: recurrence up to 10, from there the asymptotic series.
__device__ inline double digamma(double x) {
  double sum = 0;
  for (; x < 10; ++x) sum -= 1 / x;
  const double r = 1 / (x * x);
  const double series = r * (1. / 12 - r * (1. / 120 - r * (1. / 252 - r * (1. / 240 - r * (1. / 132 - r * (691. / 32760))))));
  return sum + log(x) - .5 / x - series;
}
__device__ inline double trigamma(double x) {
  double sum = 0;
  for (; x < 10; ++x) sum += 1 / (x * x);
  const double r = 1 / (x * x);
  const double series = r * (1. / 6 - r * (1. / 30 - r * (1. / 42 - r * (1. / 30 - r * (5. / 66 - r * (691. / 2730 - r * (7. / 6)))))));
  return sum + 1 / x + .5 * r + series / x;
}

/// log P and its derivatives by eta.
struct LogProbability {
  double value, first, second;
};

/// log Phi(x) with h = phi / Phi its first derivative, h' = -h (x + h).
__device__ inline LogProbability log_normal_cdf(double x) {
  constexpr double kHalfLogTwoPi = 0.9189385332046727;
  double value = 0;
  double h = 0;
  if (x > -37) {
    const double cdf = .5 * erfc(-x * 0.7071067811865476);
    value = log(cdf);
    h = exp(-.5 * x * x - kHalfLogTwoPi) / cdf;
  } else {  // the asymptotic series of Mills' ratio
    const double s = 1 / (x * x);
    const double series = 1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s)));
    value = -.5 * x * x - log(-x) - kHalfLogTwoPi + log(series);
    h = -x / series;
  }
  return {value, h, -h * (x + h)};
}

/// P = 1 - exp(-m), m = exp(eta). With h = m / (exp(m) - 1), (log P)' = h and h' = h (1 - m - h).
__device__ inline LogProbability log_cloglog_success(double eta) {
  const double m = exp(eta);
  if (m > 700) return {0, 0, 0};
  const double h = m < 1e-300 ? 1. : m / expm1(m);
  const double value = eta < -30 ? eta - .5 * m : log(-expm1(-m));
  return {value, h, h * (1 - m - h)};
}

/// y successes out of 1, where y may be a fraction: trials are weights.
__device__ inline FamilyPoint successes_point(double y, const LogProbability& success, const LogProbability& failure) {
  FamilyPoint out;
  if (y != 0) {  // and not 0 times infinity
    out.value += y * success.value;
    out.by_eta += y * success.first;
    out.by_eta2 += y * success.second;
  }
  if (y != 1) {
    out.value += (1 - y) * failure.value;
    out.by_eta += (1 - y) * failure.first;
    out.by_eta2 += (1 - y) * failure.second;
  }
  return out;
}

__device__ inline FamilyPoint probit_point(double y, double eta) {
  const LogProbability mirrored = log_normal_cdf(-eta);
  return successes_point(y, log_normal_cdf(eta), {mirrored.value, -mirrored.first, mirrored.second});
}

__device__ inline FamilyPoint cloglog_point(double y, double eta) {
  const double m = exp(eta);
  return successes_point(y, log_cloglog_success(eta), {-m, -m, -m});
}

/// log Gamma(shape + y) - log Gamma(shape) and its derivatives by the shape. Short sums keep their digits where the shape is large.
struct RisingFactorial {
  double log, first, second;
};

__device__ inline RisingFactorial rising_factorial(double shape, double y) {
  constexpr double kMostTerms = 24;
  if (y > kMostTerms)
    return {lgamma(shape + y) - lgamma(shape), digamma(shape + y) - digamma(shape), trigamma(shape + y) - trigamma(shape)};
  RisingFactorial out{0, 0, 0};
  double product = 1;
  for (double k = 0; k < y; ++k) {
    product *= shape + k;
    if (product > 1e250) {
      out.log += log(product);
      product = 1;
    }
    const double inverse = 1 / (shape + k);
    out.first += inverse;
    out.second -= inverse * inverse;
  }
  out.log += log(product);
  return out;
}

/// With t = eta - log shape and p = 1 / (1 + exp(-t)). own: log shape, shape.
__device__ inline FamilyPoint negative_binomial_point(double y, double eta, const double* own) {
  const double a = own[1];
  const double t = eta - own[0];
  const double e = exp(-fabs(t));
  const double softplus = fmax(t, 0.) + log1p(e);
  const double p = (t > 0 ? 1. : e) / (1 + e);
  const double v = p * (1 - p);
  const double total = y + a;
  const RisingFactorial rising = rising_factorial(a, y);
  FamilyPoint out;
  out.value = rising.log + y * t - total * softplus;
  out.by_eta = y - total * p;
  out.by_own = a * (rising.first - softplus) - out.by_eta;
  out.by_eta2 = -total * v;
  out.by_eta_own = total * v - a * p;
  out.by_own2 = a * (rising.first - softplus + a * rising.second + 2 * p) - total * v;
  return out;
}

/// With w = y exp(-eta). own: log shape, shape, and log gamma, digamma and trigamma of the shape.
__device__ inline FamilyPoint gamma_point(double y, double eta, const double* own) {
  const double a = own[1];
  const double log_w = log(y) - eta;
  const double w = exp(log_w);
  const double excess = own[0] + log_w - w;
  FamilyPoint out;
  out.value = a * excess - own[2];
  out.by_eta = a * (w - 1);
  out.by_own = a * (excess + 1 - own[3]);
  out.by_eta2 = -a * w;
  out.by_eta_own = out.by_eta;
  out.by_own2 = out.by_own + a * (1 - a * own[4]);
  return out;
}

/// With z = shape (log y - eta). own: log shape, shape; an exponential response has the shape 1.
__device__ inline FamilyPoint weibull_point(FamilyRow row, double eta, const double* own) {
  const double k = own[1];
  const double z = k * (log(row.y) - eta);
  const double hazard = exp(z);  // cumulative
  FamilyPoint out;
  out.value = row.event * (own[0] + z) - hazard;
  out.by_eta = k * (hazard - row.event);
  out.by_own = row.event * (1 + z) - z * hazard;
  out.by_eta2 = -k * k * hazard;
  return out;
}

/// With r = y - eta. own: log sigma, nu, nu sigma^2, the normaliser and its derivative by log nu.
__device__ inline FamilyPoint student_t_point(double y, double eta, const double* own) {
  const double nu = own[1];
  const double c = own[2];
  const double r = y - eta;
  const double log_ratio = log1p(r * r / c);
  const double inverse = 1 / (c + r * r);
  const double share = r * r * inverse;
  FamilyPoint out;
  out.value = own[3] - own[0] - .5 * (nu + 1) * log_ratio;
  out.by_eta = (nu + 1) * r * inverse;
  out.by_own = (nu + 1) * share - 1;
  out.by_second = own[4] - .5 * nu * log_ratio + .5 * (nu + 1) * share;
  return out;
}

__device__ inline FamilyPoint family_point(int likelihood, FamilyRow row, double eta, const double* own) {
  switch (likelihood) {
    case MAGVA_CUDA_BERNOULLI_PROBIT:
      return probit_point(row.y, eta);
    case MAGVA_CUDA_BERNOULLI_CLOGLOG:
      return cloglog_point(row.y, eta);
    case MAGVA_CUDA_NEGATIVE_BINOMIAL:
      return negative_binomial_point(row.y, eta, own);
    case MAGVA_CUDA_GAMMA:
      return gamma_point(row.y, eta, own);
    case MAGVA_CUDA_WEIBULL:
      return weibull_point(row, eta, own);
    default:
      return student_t_point(row.y, eta, own);
  }
}

/// Quadrature rules for a standard normal variable: rule r has nodes of both signs from start[r] to start[r + 1] and is accurate up to
/// largest_sd[r] where the integrand's poles are pi away.
struct NormalRules {
  const double* largest_sd;
  const std::int64_t* start;
  const double* node;
  const double* weight;
  int count;
};

/// The distance of the nearest poles of log p from the real line.
__device__ inline double poles_of(int likelihood) {
  constexpr double kPi = 3.141592653589793;
  return likelihood == MAGVA_CUDA_BERNOULLI_PROBIT ? 2.8 : likelihood == MAGVA_CUDA_BERNOULLI_CLOGLOG ? kPi / 2 : kPi;
}

__device__ inline FamilyPoint integrate_eta(int likelihood, FamilyRow row, double mean, double variance, const double* own,
                                            const NormalRules& rules) {
  constexpr double kPi = 3.141592653589793;
  const double sd = sqrt(variance);
  const double wide = sd * kPi / poles_of(likelihood);
  int r = 0;
  while (r < rules.count && !(wide <= rules.largest_sd[r])) ++r;
  FamilyPoint out;
  if (r == rules.count) {
    out.value = nan("");
    return out;
  }
  for (std::int64_t k = rules.start[r]; k < rules.start[r + 1]; ++k)
    for (int side = -1; side <= 1; side += 2) {
      const FamilyPoint at = family_point(likelihood, row, mean + side * sd * rules.node[k], own);
      const double weight = rules.weight[k];
      out.value += weight * at.value;
      out.by_eta += weight * at.by_eta;
      out.by_own += weight * at.by_own;
      out.by_eta2 += weight * at.by_eta2;
      out.by_eta_own += weight * at.by_eta_own;
      out.by_own2 += weight * at.by_own2;
    }
  return out;
}

/// Expectations under eta ~ N(mean, variance). Where log p is linear in eta and exp(-eta), they are its values at mean - variance / 2 with
/// the linear part corrected.
__device__ inline FamilyPoint expected_family_point(int likelihood, FamilyRow row, double mean, double variance, const double* own,
                                                    const NormalRules& rules) {
  if (likelihood != MAGVA_CUDA_GAMMA && likelihood != MAGVA_CUDA_WEIBULL)
    return integrate_eta(likelihood, row, mean, variance, own, rules);
  FamilyPoint out = family_point(likelihood, row, mean - .5 * variance, own);
  const double less = .5 * variance * (likelihood == MAGVA_CUDA_GAMMA ? own[1] : row.event);
  out.value -= less;
  out.by_own -= less;
  out.by_own2 -= less;
  return out;
}

}  // namespace magva_cuda
