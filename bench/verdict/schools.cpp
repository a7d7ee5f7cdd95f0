// Groups with known noise, as in the eight schools (Rubin 1981). Given the groups' sd tau all else is normal,
// so that the truth is a quadrature over log tau alone.
#include <fmt/format.h>

#include <cmath>

#include "truth.hpp"

namespace magva::bench {

namespace {

using Generator = std::mt19937_64;

struct Schools {
  Vector y;
  Vector variance;  // of the noise
  double mu_variance;
  double tau_scale;
  bool cauchy;  // tau ~ half-Cauchy, else half-normal
  bool centred;

  Index count() const { return y.size(); }

  /// Of log tau.
  double log_prior(double log_tau, double& slope) const {
    const double square = std::exp(2 * log_tau) / (tau_scale * tau_scale);
    slope = cauchy ? 1 - 2 * square / (1 + square) : 1 - square;
    return cauchy ? log_tau - std::log1p(square) : log_tau - .5 * square;
  }

  /// Coordinates: the effects, or their standardised differences from mu; mu; log tau.
  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const Index j = count();
    const double mu = theta(j), tau = std::exp(theta(j + 1));
    const auto own = theta.head(j);
    const Vector effect = centred ? Vector(own) : Vector(mu + tau * own.array());
    const Vector pull = (y - effect).cwiseQuotient(variance);
    double value =
        log_prior(theta(j + 1), gradient(j + 1)) - .5 * mu * mu / mu_variance - .5 * pull.dot(y - effect);
    gradient(j) = -mu / mu_variance;
    if (!centred) {
      gradient.head(j) = tau * pull - own;
      gradient(j) += pull.sum();
      gradient(j + 1) += tau * pull.dot(own);
      return value - .5 * own.squaredNorm();
    }
    const Vector z = (own.array() - mu) / tau;
    gradient.head(j) = pull - z / tau;
    gradient(j) += z.sum() / tau;
    gradient(j + 1) += z.squaredNorm() - static_cast<double>(j);
    return value - .5 * z.squaredNorm() - static_cast<double>(j) * theta(j + 1);
  }

  /// Log marginal density of log tau, and the moments of all coordinates given it.
  double given(double log_tau, Vector& mean, Vector& spread) const {
    const double tau = std::exp(log_tau);
    const Vector total = variance.array() + tau * tau;
    const double precision = 1 / mu_variance + total.cwiseInverse().sum();
    const double mu = y.cwiseQuotient(total).sum() / precision;
    const Vector shrunk = tau * tau * total.cwiseInverse();
    const Index j = count();
    mean(j) = mu;
    spread(j) = 1 / precision;
    mean(j + 1) = log_tau;
    spread(j + 1) = 0;
    const double scale = centred ? 1 : 1 / tau;
    mean.head(j) = scale * shrunk.cwiseProduct((y.array() - mu).matrix());
    if (centred) mean.head(j).array() += mu;
    const Vector of_mu = centred ? Vector(1 - shrunk.array()) : Vector(scale * shrunk);
    spread.head(j) = scale * scale * shrunk.cwiseProduct(variance) + of_mu.cwiseAbs2() / precision;
    double unused = 0;
    return log_prior(log_tau, unused) - .5 * std::log(precision) - .5 * total.array().log().sum() -
           .5 * (y.cwiseAbs2().cwiseQuotient(total).sum() - mu * mu * precision);
  }
};

/// With tau itself among what is read, as of a Stan program, or its logarithm alone.
KnownPosterior posterior_of(const Schools& groups, std::string kind, std::string detail, bool read_tau) {
  const Index m = groups.count() + 2;
  const double scale = std::log(groups.tau_scale);
  const GivenOne given = [&](double log_tau, Vector& mean, Vector& spread) {
    return groups.given(log_tau, mean, spread);
  };
  KnownQuantity tau{"tau", m - 1, [](double log_tau) { return std::exp(log_tau); }, 0, 0};
  Moments truth = integrate_over_one(given, m, scale - 30, scale + 15, tau);
  KnownPosterior out{std::move(kind), std::move(detail), make_model_of(m, groups), std::move(truth.mean),
                     std::move(truth.sd)};
  if (read_tau) out.quantity = std::move(tau);
  return out;
}

}  // namespace

std::vector<KnownPosterior> eight_schools() {
  Schools rubin;
  rubin.y = Vector{{28, 8, -3, 7, -1, 1, 18, 12}};
  rubin.variance = Vector{{15, 10, 16, 11, 9, 11, 10, 18}}.cwiseAbs2();
  std::vector<KnownPosterior> out;
  for (const bool centred : {true, false})
    for (const bool cauchy : {true, false})
      for (const double mu_sd : {5., 1000.})
        for (const bool read_tau : {false, true}) {
          rubin.centred = centred;
          rubin.cauchy = cauchy;
          rubin.mu_variance = mu_sd * mu_sd;
          rubin.tau_scale = cauchy ? 5 : 25;
          out.push_back(
              posterior_of(rubin, "eight schools",
                           fmt::format("mu sd {}, tau half-{} {}{}", mu_sd, cauchy ? "Cauchy" : "normal",
                                       rubin.tau_scale, centred ? ", centred" : ""),
                           read_tau));
        }
  return out;
}

KnownPosterior schools(Generator& generator) {
  std::normal_distribution<double> normal;
  const auto pick = [&](std::initializer_list<double> values) {
    return *(values.begin() + static_cast<std::ptrdiff_t>(generator() % values.size()));
  };
  const auto count = static_cast<Index>(4 + generator() % 9);
  const double noise = pick({1., 10.});
  const double tau = noise * pick({0., .3, 1., 3.});
  Schools groups;
  groups.tau_scale = noise * pick({.5, 1., 3.});
  groups.mu_variance = std::pow(noise * pick({.5, 3.}), 2);
  groups.cauchy = generator() % 2 == 0;
  groups.centred = generator() % 2 == 0;
  groups.variance.resize(count);
  groups.y.resize(count);
  const double mu = .5 * noise * normal(generator);
  for (Index j = 0; j < count; ++j) {
    const double sd = noise * std::exp(.3 * normal(generator));
    groups.variance(j) = sd * sd;
    groups.y(j) = mu + tau * normal(generator) + sd * normal(generator);
  }
  return posterior_of(
      groups, "schools",
      fmt::format("{} groups, noise {}, tau {}, scale {} {}{}", count, noise, tau,
                  groups.cauchy ? "Cauchy" : "normal", groups.tau_scale, groups.centred ? ", centred" : ""),
      generator() % 2 == 0);
}

}  // namespace magva::bench
