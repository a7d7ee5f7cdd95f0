#include "mixed/student_draws.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/noise.hpp"

namespace magva::mixed {

namespace {

/// Half of the least degrees of freedom; in many dimensions they grow with these, so that the length of a
/// draw does not vary much more than a Gaussian's.
constexpr int kLeastHalf = 2;

int half_degrees(Index dimension) { return std::max(kLeastHalf, static_cast<int>(dimension + 2) / 4); }

Matrix covariance_factor(const Gaussian& gaussian) {
  if (gaussian.is_dense()) return gaussian.factors();
  Matrix covariance = gaussian.factors() * gaussian.factors().transpose();
  covariance.diagonal() += gaussian.residual_sd().cwiseAbs2();
  return covariance.llt().matrixL();
}

double log_gamma_of(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

std::vector<double> roots_of_primes(std::size_t count) {
  std::vector<double> roots;
  std::vector<int> primes;
  for (int n = 2; roots.size() < count; ++n) {
    if (std::any_of(primes.begin(), primes.end(), [n](int p) { return n % p == 0; })) continue;
    primes.push_back(n);
    roots.push_back(std::sqrt(static_cast<double>(n)));
  }
  return roots;
}

double uniform_of(double normal) { return .5 * std::erfc(-normal / std::numbers::sqrt2); }

/// P(X > x) for a chi-square X with 2 k degrees of freedom: a Poisson sum.
double chi_square_above(double x, int k) {
  double term = 1;
  double sum = 1;
  for (int j = 1; j < k; ++j) {
    term *= .5 * x / j;
    sum += term;
  }
  return sum * std::exp(-.5 * x);
}

}  // namespace

// Rational approximation (Acklam), and a step of Halley's method to full precision.
double normal_quantile(double p) {
  constexpr double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                          1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr double b[] = {-5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02,
                          6.680131188771972e+01, -1.328068155288572e+01};
  constexpr double c[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                          -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr double d[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                          3.754408661907416e+00};
  constexpr double kTail = .02425;
  double x = 0;
  if (std::min(p, 1 - p) < kTail) {
    const double q = std::sqrt(-2 * std::log(std::min(p, 1 - p)));
    x = (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
        ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
    if (p > .5) x = -x;
  } else {
    const double q = p - .5, r = q * q;
    x = (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
        (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
  }
  const double error = (uniform_of(x) - p) * std::sqrt(2 * std::numbers::pi) * std::exp(.5 * x * x);
  return x - error / (1 + .5 * x * error);
}

double chi_square_quantile(double p, int k) {
  double low = 0;
  double high = 4.0 * k;
  while (chi_square_above(high, k) > 1 - p) high *= 2;
  for (int step = 0; step < 50; ++step) {
    const double middle = .5 * (low + high);
    (chi_square_above(middle, k) > 1 - p ? low : high) = middle;
  }
  return .5 * (low + high);
}

StudentT::StudentT(const Gaussian& gaussian)
    : gaussian_(gaussian),
      factor_(covariance_factor(gaussian)),
      half_nu_(half_degrees(gaussian.dimension())) {
  const double nu = 2.0 * half_nu_, m = static_cast<double>(dimension());
  log_constant_ = log_gamma_of(.5 * (nu + m)) - log_gamma_of(.5 * nu) -
                  .5 * m * std::log(nu * std::numbers::pi) - .5 * gaussian.log_determinant();
}

Matrix StudentT::draws(Index count, std::uint64_t seed) const {
  const Index m = dimension(), pairs = count / 2;
  Matrix shift(m + 1, 1);
  Noise(seed, NoiseStream::kRandomPoint).fill(1, 0, shift);
  const std::vector<double> roots = roots_of_primes(static_cast<std::size_t>(m + 1));
  Matrix out(m, 2 * pairs);
  Vector z(m);
  for (Index k = 0; k < pairs; ++k) {
    const auto point = [&](Index i) {
      const double at =
          uniform_of(shift(i, 0)) + static_cast<double>(k + 1) * roots[static_cast<std::size_t>(i)];
      return std::clamp(at - std::floor(at), 1e-12, 1 - 1e-12);
    };
    // The length counts most: it has the best of the lattice's coordinates.
    for (Index i = 0; i < m; ++i) z(i) = normal_quantile(point(i + 1));
    z *= std::sqrt(2.0 * half_nu_ / chi_square_quantile(point(0), half_nu_));
    const Vector step = factor_.triangularView<Eigen::Lower>() * z;
    out.col(2 * k) = gaussian_.mean() + step;
    out.col(2 * k + 1) = gaussian_.mean() - step;
  }
  return out;
}

Vector StudentT::log_density(ConstMatrixRef theta) const {
  const double nu = 2.0 * half_nu_, m = static_cast<double>(dimension());
  Matrix z = theta.colwise() - gaussian_.mean();
  factor_.triangularView<Eigen::Lower>().solveInPlace(z);
  const Vector distance = z.colwise().squaredNorm();
  return log_constant_ - .5 * (nu + m) * (distance.array() / nu).log1p();
}

}  // namespace magva::mixed
