// A logistic regression with an intercept for each group. Given the common intercept and the groups' sd the
// groups are independent, so that the truth is a grid over these two, with one integral for each group.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "truth.hpp"

namespace magva::bench {

namespace {

using Generator = std::mt19937_64;

double log_one_plus_exp(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

/// Coordinates: the groups' intercepts, or their standardised differences from the common one, which comes
/// next, and the log of their sd tau; intercept ~ N(0, 2.5^2), tau ~ half-normal(0, 2.5).
struct BinaryGroups {
  Vector successes;
  double trials;
  bool centred;

  static constexpr double kPriorPrecision = 1 / (2.5 * 2.5);

  Index count() const { return successes.size(); }

  static double log_hyperprior(double mu, double log_tau, double& by_mu, double& by_log_tau) {
    const double square = kPriorPrecision * std::exp(2 * log_tau);
    by_mu = -kPriorPrecision * mu;
    by_log_tau = 1 - square;
    return -.5 * kPriorPrecision * mu * mu + log_tau - .5 * square;
  }

  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const Index j = count();
    const double mu = theta(j), tau = std::exp(theta(j + 1));
    double value = log_hyperprior(mu, theta(j + 1), gradient(j), gradient(j + 1));
    for (Index i = 0; i < j; ++i) {
      const double z = centred ? (theta(i) - mu) / tau : theta(i);
      const double eta = centred ? theta(i) : mu + tau * z;
      const double by_eta = successes(i) - trials / (1 + std::exp(-eta));
      value += successes(i) * eta - trials * log_one_plus_exp(eta) - .5 * z * z;
      if (centred) {
        gradient(i) = by_eta - z / tau;
        gradient(j) += z / tau;
        gradient(j + 1) += z * z - 1;
        value -= theta(j + 1);
      } else {
        gradient(i) = tau * by_eta - z;
        gradient(j) += by_eta;
        gradient(j + 1) += by_eta * tau * z;
      }
    }
    return value;
  }

  /// The log of one group's likelihood and the moments of its z, given mu and tau.
  struct GroupIntegral {
    double log_mass, mean, square;
  };
  GroupIntegral integrate_group(double k, double mu, double tau) const {
    double mass = 0, first = 0, second = 0;
    for (int a = -90; a <= 90; ++a) {
      const double z = .1 * a, eta = mu + tau * z;
      const double weight = std::exp(k * eta - trials * log_one_plus_exp(eta) - .5 * z * z);
      mass += weight;
      first += weight * z;
      second += weight * z * z;
    }
    return {std::log(mass), first / mass, second / mass};
  }
};

/// On a grid over mu and log tau that has all mass. Groups with equal numbers of successes have one integral.
Moments integrate(const BinaryGroups& model) {
  constexpr int kMuPoints = 121, kTauPoints = 161;
  const Index j = model.count(), m = j + 2;
  const auto most = static_cast<int>(model.trials);
  double mass = 0, largest = -std::numeric_limits<double>::infinity();
  Vector sum = Vector::Zero(m), squares = Vector::Zero(m), first(m), second(m);
  for (int a = 0; a < kMuPoints; ++a)
    for (int b = 0; b < kTauPoints; ++b) {
      const double mu = -12 + .2 * a, log_tau = -13 + .1 * b, tau = std::exp(log_tau);
      double unused = 0, log_weight = BinaryGroups::log_hyperprior(mu, log_tau, unused, unused);
      std::vector<BinaryGroups::GroupIntegral> group;
      for (int k = 0; k <= most; ++k) group.push_back(model.integrate_group(k, mu, tau));
      for (Index i = 0; i < j; ++i) {
        const auto& own = group[static_cast<std::size_t>(model.successes(i))];
        log_weight += own.log_mass;
        first(i) = model.centred ? mu + tau * own.mean : own.mean;
        second(i) = model.centred ? mu * mu + 2 * mu * tau * own.mean + tau * tau * own.square : own.square;
      }
      first.tail(2) << mu, log_tau;
      second.tail(2) << mu * mu, log_tau * log_tau;
      if (log_weight > largest) {
        const double less = std::exp(largest - log_weight);
        mass *= less;
        sum *= less;
        squares *= less;
        largest = log_weight;
      }
      const double weight = std::exp(log_weight - largest);
      mass += weight;
      sum += weight * first;
      squares += weight * second;
    }
  const Vector mean = sum / mass;
  return {mean, (squares / mass - mean.cwiseAbs2()).cwiseSqrt()};
}

}  // namespace

KnownPosterior binary_groups(Generator& generator) {
  std::normal_distribution<double> normal;
  const auto count = static_cast<Index>(std::array{4, 8, 15}[generator() % 3]);
  const int trials = std::array{1, 5, 20}[generator() % 3];
  const double tau = std::array{.2, 1., 2.}[generator() % 3];
  const double mu = normal(generator);
  BinaryGroups model{Vector(count), static_cast<double>(trials), generator() % 2 == 0};
  for (double& successes : model.successes) {
    const double eta = mu + tau * normal(generator);
    successes = std::binomial_distribution<int>(trials, 1 / (1 + std::exp(-eta)))(generator);
  }
  Moments truth = integrate(model);
  return {"binary groups",
          fmt::format("{} groups of {}, tau {}{}", count, trials, tau, model.centred ? ", centred" : ""),
          make_model_of(count + 2, model), std::move(truth.mean), std::move(truth.sd)};
}

}  // namespace magva::bench
