#include "mixed/student_draws.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <vector>

#include "core/noise.hpp"
#include "posterior/normal_quantile.hpp"

namespace magva::mixed {

namespace {

/// Half of the least degrees of freedom; in many dimensions they grow with these, so that the length of a
/// draw does not vary much more than a Gaussian's.
constexpr int kLeastHalf = 2;

/// A log sd is folded if its sd is larger; but no more than so many, since each doubles the density's terms.
constexpr double kUncertain = .25;
constexpr std::size_t kMostFolded = 4;
/// The least root of an sd that is proposed.
constexpr double kLeastRoot = 1e-5;

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

StudentT::StudentT(const Gaussian& gaussian, const std::vector<Index>& log_sds)
    : mean_(gaussian.mean()), factor_(covariance_factor(gaussian)), half_nu_(half_degrees(mean_.size())) {
  const double nu = 2.0 * half_nu_, m = static_cast<double>(dimension());
  log_constant_ = log_gamma_of(.5 * (nu + m)) - log_gamma_of(.5 * nu) -
                  .5 * m * std::log(nu * std::numbers::pi) - .5 * gaussian.log_determinant();
  const auto sd = [&](Index j) { return factor_.row(j).norm(); };
  std::copy_if(log_sds.begin(), log_sds.end(), std::back_inserter(folded_),
               [&](Index j) { return sd(j) > kUncertain; });
  std::stable_sort(folded_.begin(), folded_.end(), [&](Index a, Index b) { return sd(a) > sd(b); });
  folded_.resize(std::min(folded_.size(), kMostFolded));
  for (const Index j : folded_) {  // by the derivative of the root, half of it
    mean_(j) = std::exp(.5 * mean_(j));
    factor_.row(j) *= .5 * mean_(j);
    log_constant_ -= std::log(.5 * mean_(j));
  }
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
    out.col(2 * k) = mean_ + step;
    out.col(2 * k + 1) = mean_ - step;
  }
  for (const Index j : folded_) out.row(j) = 2 * out.row(j).array().abs().max(kLeastRoot).log();
  return out;
}

Matrix StudentT::with_roots(ConstMatrixRef theta) const {
  Matrix out = theta;
  for (const Index j : folded_) out.row(j) = (.5 * theta.row(j).array()).exp();
  return out;
}

Vector StudentT::log_density(ConstMatrixRef theta) const {
  const double nu = 2.0 * half_nu_, m = static_cast<double>(dimension());
  const Matrix at = with_roots(theta);
  const auto unfolded = [&](std::size_t signs) -> Vector {
    Matrix z = at;
    for (std::size_t k = 0; k < folded_.size(); ++k)
      if ((signs >> k & 1U) != 0) z.row(folded_[k]) *= -1;
    z.colwise() -= mean_;
    factor_.triangularView<Eigen::Lower>().solveInPlace(z);
    return log_constant_ - .5 * (nu + m) * (z.colwise().squaredNorm().transpose().array() / nu).log1p();
  };
  Vector sum = unfolded(0);
  for (std::size_t signs = 1; signs < std::size_t{1} << folded_.size(); ++signs) {
    const Vector other = unfolded(signs), top = sum.cwiseMax(other);
    sum = top.array() + ((sum - top).array().exp() + (other - top).array().exp()).log();
  }
  for (const Index j : folded_) sum.array() += .5 * theta.row(j).transpose().array() - std::log(2.0);
  return sum;
}

}  // namespace magva::mixed
