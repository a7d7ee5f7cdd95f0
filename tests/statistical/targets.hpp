#pragma once
// Log densities with known answers, for the tests of the default.
#include <cmath>
#include <limits>
#include <numbers>

#include "magva/model.hpp"

namespace magva::targets {

inline double log_normal(double x, double mean, double sd) {
  return -.5 * (x - mean) * (x - mean) / (sd * sd) - std::log(sd) - .5 * std::log(2 * std::numbers::pi);
}

/// Normalised: its best ELBO is 0. Sds from 1e-3 to 1e3; neighbours have correlation .95.
inline auto chain(Index m) {
  return make_model(m, [m](ConstVectorRef theta, VectorRef gradient) {
    double sum = 0;
    gradient.setZero();
    double last = 0;
    const double rho = .95;
    for (Index i = 0; i < m; ++i) {
      const double sd = std::pow(10., 6. * static_cast<double>(i) / static_cast<double>(m - 1) - 3);
      const double x = (theta(i) - static_cast<double>(i)) / sd;
      const double spread = i == 0 ? 1 : std::sqrt(1 - rho * rho);
      const double mean = i == 0 ? 0 : rho * last;
      sum += log_normal(x, mean, spread) - std::log(sd);
      const double slope = -(x - mean) / (spread * spread);
      gradient(i) += slope / sd;
      if (i > 0) {
        const double before = std::pow(10., 6. * static_cast<double>(i - 1) / static_cast<double>(m - 1) - 3);
        gradient(i - 1) -= slope * rho / before;
      }
      last = x;
    }
    return sum;
  });
}

/// Independent Student t with 3 degrees of freedom.
inline auto student(Index m) {
  return make_model(m, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -4 * theta.array() / (3 + theta.array().square());
    return -2 * (theta.array().square() / 3).log1p().sum();
  });
}

/// Two normals at +-(distance, ..., distance), with equal weights.
inline auto two_modes(Index m, double distance) {
  return make_model(m, [distance](ConstVectorRef theta, VectorRef gradient) {
    const double a = -.5 * (theta.array() - distance).square().sum();
    const double b = -.5 * (theta.array() + distance).square().sum();
    const double top = std::max(a, b);
    const double sum = std::exp(a - top) + std::exp(b - top);
    const double share = std::exp(a - top) / sum;
    gradient = -(theta.array() - distance) * share - (theta.array() + distance) * (1 - share);
    return top + std::log(.5 * sum);
  });
}

/// Flat in its last coordinate.
inline auto improper() {
  return make_model(3, [](ConstVectorRef theta, VectorRef gradient) {
    gradient << -theta(0) + (theta(1) - theta(0)), -(theta(1) - theta(0)), 0;
    return -.5 * theta(0) * theta(0) - .5 * (theta(1) - theta(0)) * (theta(1) - theta(0));
  });
}

/// Logistic regression without a prior on perfectly separated data.
inline auto separable() {
  return make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    double sum = 0;
    gradient.setZero();
    for (int side = -1; side <= 1; side += 2)
      for (int j = 1; j <= 10; ++j) {
        const double eta = side * (theta(0) + side * j * theta(1));
        sum -= eta > 0 ? std::log1p(std::exp(-eta)) : -eta + std::log1p(std::exp(eta));
        const double slope = 1 / (1 + std::exp(eta));
        gradient(0) += side * slope;
        gradient(1) += j * slope;
      }
    return sum;
  });
}

/// Neal's funnel, centred: the density has no top, and its narrow end no mass.
inline auto funnel(Index m) {
  return make_model(m, [m](ConstVectorRef theta, VectorRef gradient) {
    const double v = theta(0);
    double sum = log_normal(v, 0, 3);
    gradient(0) = -v / 9;
    for (Index i = 1; i < m; ++i) {
      const double scaled = theta(i) * theta(i) * std::exp(-v);
      sum += -.5 * scaled - .5 * v - .5 * std::log(2 * std::numbers::pi);
      gradient(i) = -theta(i) * std::exp(-v);
      gradient(0) += .5 * scaled - .5;
    }
    return sum;
  });
}

}  // namespace magva::targets
