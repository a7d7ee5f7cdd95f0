#include "mixed/student_draws.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/noise.hpp"
#include "posterior/normal_quantile.hpp"

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
