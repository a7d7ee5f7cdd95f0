#pragma once
// Hierarchical posteriors whose moments are known by quadrature: given one hyper-parameter all else is
// normal.
#include <cmath>

#include "magva/model.hpp"
#include "magva/posterior.hpp"
#include "support/targets.hpp"

namespace magva::test {

/// Means y_g of some observations of group g, with known variance: y_g ~ N(mu + sd z_g, noise), z_g ~ N(0,
/// 1), mu ~ N(0, 4), sd ~ half-normal(1). theta = (mu, log sd, z).
struct Groups {
  Vector y;
  double noise;

  double log_density(ConstVectorRef theta, VectorRef gradient) const {
    const double sd = std::exp(theta(1));
    const auto z = theta.tail(y.size());
    const Vector left = (y.array() - theta(0) - sd * z.array()) / noise;
    gradient(0) = left.sum() - theta(0) / 4;
    gradient(1) = sd * left.dot(z) - sd * sd + 1;
    gradient.tail(y.size()) = sd * left - z;
    return -.5 * (noise * left.squaredNorm() + z.squaredNorm() + theta(0) * theta(0) / 4 + sd * sd) +
           theta(1);
  }

  auto model() const {
    return make_model(y.size() + 2, [groups = *this](ConstVectorRef theta, VectorRef gradient) {
      return groups.log_density(theta, gradient);
    });
  }
};

struct Moments {
  Vector mean, sd;
};

/// log p(t), up to a constant, of the marginal density of t = log sd: given it everything is normal.
inline double log_marginal(const Groups& groups, double t) {
  const double total = std::exp(2 * t) + groups.noise;
  const auto count = static_cast<double>(groups.y.size());
  const double precision = .25 + count / total;
  const double mu = groups.y.sum() / total / precision;
  return t - .5 * std::exp(2 * t) - .5 * count * std::log(total) - .5 * std::log(precision) -
         .5 * groups.y.squaredNorm() / total + .5 * precision * mu * mu;
}

/// Sums over a grid of log sd.
inline Moments exact_moments(const Groups& groups) {
  const auto count = static_cast<double>(groups.y.size());
  const Index m = groups.y.size() + 2;
  Vector first = Vector::Zero(m), second = Vector::Zero(m);
  double mass = 0;
  for (double t = -15; t < 3; t += .005) {
    const double sd = std::exp(t);
    const double total = sd * sd + groups.noise;
    const double precision = .25 + count / total;
    const double mu = groups.y.sum() / total / precision;
    const double weight = std::exp(log_marginal(groups, t));
    Vector mean(m), variance(m);
    mean << mu, t, sd / total * (groups.y.array() - mu).matrix();
    variance.setConstant(groups.noise / total + std::pow(sd / total, 2) / precision);
    variance(0) = 1 / precision;
    variance(1) = 0;
    mass += weight;
    first += weight * mean;
    second += weight * (variance + mean.cwiseAbs2());
  }
  first /= mass;
  return {first, (second / mass - first.cwiseAbs2()).cwiseSqrt()};
}

inline Groups simulated_groups(Index count, double sd, double noise, std::uint64_t seed) {
  const Matrix z = random_matrix(count, 2, seed);
  return {(.3 + sd * z.col(0).array() + std::sqrt(noise) * z.col(1).array()).matrix(), noise};
}

inline double worst_mean(const Posterior& q, const Moments& exact) {
  return (q.mean() - exact.mean).cwiseQuotient(exact.sd).cwiseAbs().maxCoeff();
}
inline double worst_sd(const Posterior& q, const Moments& exact) {
  return (q.sd().cwiseQuotient(exact.sd).array() - 1).abs().maxCoeff();
}

/// y_i ~ N(x_i, sd^2), x_i ~ N(0, 1), sd ~ half-normal(1); theta = (log sd, x). The density has no bound
/// where x = y and sd goes to zero; the mass is elsewhere.
struct NoisyStates {
  Vector y;

  auto model() const {
    return make_model(y.size() + 1, [y = y](ConstVectorRef theta, VectorRef gradient) {
      const double variance = std::exp(2 * theta(0));
      const auto count = static_cast<double>(y.size());
      const auto x = theta.tail(y.size());
      const Vector left = (y - x) / variance;
      gradient(0) = variance * left.squaredNorm() - count - variance + 1;
      gradient.tail(y.size()) = left - x;
      return -.5 * (variance * left.squaredNorm() + x.squaredNorm() + variance) + (1 - count) * theta(0);
    });
  }
};

inline Moments exact_moments(const NoisyStates& states) {
  const auto count = static_cast<double>(states.y.size());
  const Index m = states.y.size() + 1;
  Vector first = Vector::Zero(m), second = Vector::Zero(m);
  double mass = 0;
  for (double t = -15; t < 3; t += .005) {
    const double variance = std::exp(2 * t);
    const double total = 1 + variance;
    const double weight =
        std::exp(t - .5 * variance - .5 * count * std::log(total) - .5 * states.y.squaredNorm() / total);
    Vector mean(m), own(m);
    mean << t, states.y / total;
    own.setConstant(variance / total);
    own(0) = 0;
    mass += weight;
    first += weight * mean;
    second += weight * (own + mean.cwiseAbs2());
  }
  first /= mass;
  return {first, (second / mass - first.cwiseAbs2()).cwiseSqrt()};
}

inline NoisyStates simulated_states(Index count, double sd, std::uint64_t seed) {
  const Matrix z = random_matrix(count, 2, seed);
  return {z.col(0) + sd * z.col(1)};
}

/// A random walk in noise, by its frequencies: y_k ~ N(step r_k z_k, noise^2), z_k ~ N(0, 1), r_k = 1 / (2
/// sin(f_k / 2)); step and noise ~ half-normal(1). theta = (log step, log noise, z): how well z_k is known,
/// and where it is, changes by factors from one value of the two to the next.
struct NoisyWalk {
  Vector y, r;

  auto model() const {
    return make_model(y.size() + 2, [y = y, r = r](ConstVectorRef theta, VectorRef gradient) {
      const double step = std::exp(theta(0));
      const double variance = std::exp(2 * theta(1));
      const auto count = static_cast<double>(y.size());
      const auto z = theta.tail(y.size());
      const Vector signal = step * r.cwiseProduct(z);
      const Vector left = (y - signal) / variance;
      gradient(0) = left.dot(signal) - step * step + 1;
      gradient(1) = variance * left.squaredNorm() - count - variance + 1;
      gradient.tail(y.size()) = step * left.cwiseProduct(r) - z;
      return -.5 * (variance * left.squaredNorm() + z.squaredNorm() + step * step + variance) + theta(0) +
             (1 - count) * theta(1);
    });
  }
};

inline Moments exact_moments(const NoisyWalk& walk) {
  const Index m = walk.y.size() + 2;
  Vector first = Vector::Zero(m), second = Vector::Zero(m);
  double mass = 0;
  for (double a = -6; a < 2; a += .03)
    for (double b = -4; b < 2; b += .03) {
      const double step = std::exp(a);
      const double variance = std::exp(2 * b);
      const Vector total = (step * walk.r).cwiseAbs2().array() + variance;
      const double weight = std::exp(a + b -
                                     .5 * (step * step + variance + total.array().log().sum() +
                                           walk.y.cwiseAbs2().cwiseQuotient(total).sum()));
      Vector mean(m), own(m);
      mean << a, b, step * walk.r.cwiseProduct(walk.y).cwiseQuotient(total);
      own << 0, 0, variance * total.cwiseInverse();
      mass += weight;
      first += weight * mean;
      second += weight * (own + mean.cwiseAbs2());
    }
  first /= mass;
  return {first, (second / mass - first.cwiseAbs2()).cwiseSqrt()};
}

inline NoisyWalk simulated_walk(Index count, double step, double noise, std::uint64_t seed) {
  const Matrix z = random_matrix(count, 2, seed);
  const Vector half = Vector::LinSpaced(count, .5, static_cast<double>(count) - .5) * std::acos(-1.) /
                      (2 * static_cast<double>(count));
  NoisyWalk out{{}, .5 * half.array().sin().inverse()};
  out.y = step * out.r.cwiseProduct(z.col(0)) + noise * z.col(1);
  return out;
}

}  // namespace magva::test
