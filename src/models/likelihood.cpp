#include "models/likelihood.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "magva/error.hpp"
#include "models/elementwise_likelihood.hpp"
#include "models/expected_likelihoods.hpp"
#include "models/half_cauchy.hpp"

namespace magva {

namespace {

using detail::ElementwiseLikelihood;
using detail::first_fault;
using detail::Point;
using detail::set;
using detail::Vec;

double weighted_mean(ConstVectorRef y, ConstVectorRef w) { return w.dot(y) / w.sum(); }

double weighted_sd(ConstVectorRef y, ConstVectorRef w) {
  return std::sqrt(w.dot((y.array() - weighted_mean(y, w)).square().matrix()) / w.sum());
}

class PoissonLog final : public ElementwiseLikelihood<PoissonLog> {
 public:
  static constexpr bool kNuisance = false;
  using ElementwiseLikelihood::constant;
  double constant(double y) const { return -std::lgamma(y + 1.0); }
  LikelihoodKind kind() const override { return LikelihoodKind::poisson_log; }
  template <class S>
  Point point(Vec eta, Vec y, const S&) const {
    // Beyond this the rate overflows: such a draw gets the log density -inf.
    const Vec rate = eta > set(700.0) ? set(std::numeric_limits<double>::infinity()) : detail::exp(eta);
    return {y * eta - rate, y - rate, Vec{}};
  }

  std::vector<std::string> validate(ConstVectorRef response) const override {
    return first_fault(response, "a count (0, 1, 2, ...) for a Poisson regression",
                       [](double y) { return y >= 0.0 && y == std::floor(y) && std::isfinite(y); });
  }
  double intercept_start(ConstVectorRef y, ConstVectorRef w) const override {
    return std::log((w.dot(y) + 0.5) / (w.sum() + 0.5));
  }
  std::shared_ptr<const ExpectedLikelihood> expectations() const override {
    return detail::expected_poisson_log();
  }
  double mean(double eta, const Shape&) const override { return std::exp(eta); }
  double simulate(double eta, const Shape&, std::mt19937_64& generator) const override {
    const double rate = std::exp(eta);
    // The counts are drawn as doubles: beyond 2^53 their spread is below their spacing.
    if (!(rate < 9e15)) return rate;
    return static_cast<double>(std::poisson_distribution<long long>(rate)(generator));
  }
};

/// What the likelihoods around a location share.
template <class Family>
class Located : public ElementwiseLikelihood<Family> {
 public:
  using ElementwiseLikelihood<Family>::constant;
  double constant(double) const { return -detail::kHalfLogTwoPi; }
  std::vector<std::string> validate(ConstVectorRef response) const override {
    return first_fault(response, "a finite number", [](double y) { return std::isfinite(y); });
  }
  double intercept_start(ConstVectorRef y, ConstVectorRef w) const override { return weighted_mean(y, w); }
  double mean(double eta, const Shape&) const override { return eta; }
};

template <class S>
Point gaussian_point(Vec eta, Vec y, const S& shape) {
  const Vec scaled = (y - eta) * shape.precision;
  const Vec square = (y - eta) * scaled;
  return {-0.5 * square - shape.log_scale, scaled, square - 1.0};
}

double simulate_gaussian(double eta, double sd, std::mt19937_64& generator) {
  return eta + sd * std::normal_distribution<double>()(generator);
}

/// sigma ~ half-Cauchy(0, scale).
class HalfCauchySigma {
 public:
  explicit HalfCauchySigma(double scale) : log_scale_(std::log(scale)) {}
  double start() const { return log_scale_; }
  double log_density(double value, double& gradient) const {
    const auto density = detail::log_half_cauchy(value - log_scale_);
    gradient += density.derivative;
    return density.value;
  }
  std::shared_ptr<const ExpectedLikelihood> expected_gaussian() const {
    return detail::expected_gaussian(log_scale_);
  }

 private:
  double log_scale_;
};

/// Any other prior.
class SigmaPrior {
 public:
  explicit SigmaPrior(const PositivePrior& prior) : prior_(prior) {}
  double start() const { return prior_.mode(); }
  double log_density(double value, double& gradient) const {
    const LogScaleDensity density = prior_.at(value);
    gradient += density.first;
    return density.value;
  }
  std::shared_ptr<const ExpectedLikelihood> expected_gaussian() const {
    return detail::expected_gaussian(prior_);
  }

 private:
  PositivePrior prior_;
};

template <class Prior>
class GaussianIdentity final : public Located<GaussianIdentity<Prior>> {
 public:
  static constexpr bool kNuisance = true;
  explicit GaussianIdentity(const Prior& prior) : prior_(prior) {}
  LikelihoodKind kind() const override { return LikelihoodKind::gaussian; }
  template <class S>
  Point point(Vec eta, Vec y, const S& shape) const {
    return gaussian_point(eta, y, shape);
  }

  std::string nuisance_name(Index) const override { return "log_sigma"; }
  double nuisance_start(Index, ConstVectorRef y, ConstVectorRef w) const override {
    const double sd = weighted_sd(y, w);
    return sd > 0.0 ? std::log(sd) : prior_.start();
  }
  double nuisance_prior(Index, double value, double& gradient) const override {
    return prior_.log_density(value, gradient);
  }
  Shape shape(const double* own) const override { return {std::exp(-2.0 * own[0]), own[0], {own[0]}}; }
  std::shared_ptr<const ExpectedLikelihood> expectations() const override {
    return prior_.expected_gaussian();
  }
  double simulate(double eta, const Shape& shape, std::mt19937_64& generator) const override {
    return simulate_gaussian(eta, std::exp(shape.log_scale), generator);
  }

 private:
  Prior prior_;
};

class GaussianKnownNoise final : public Located<GaussianKnownNoise> {
 public:
  static constexpr bool kNuisance = false;
  explicit GaussianKnownNoise(double sigma) : shape_{1.0 / (sigma * sigma), std::log(sigma), {}} {}
  LikelihoodKind kind() const override { return LikelihoodKind::gaussian; }
  template <class S>
  Point point(Vec eta, Vec y, const S& shape) const {
    return gaussian_point(eta, y, shape);
  }
  Shape shape(const double*) const override { return shape_; }
  std::shared_ptr<const ExpectedLikelihood> expectations() const override {
    return detail::expected_gaussian_known_noise(std::exp(shape_.log_scale));
  }
  double simulate(double eta, const Shape& shape, std::mt19937_64& generator) const override {
    return simulate_gaussian(eta, std::exp(shape.log_scale), generator);
  }

 private:
  Shape shape_;
};

class OutlierMixture final : public Located<OutlierMixture> {
 public:
  static constexpr bool kNuisance = true;
  explicit OutlierMixture(const OutlierMixtureOptions& options)
      : options_(options),
        log_share_(std::log1p(-options.outlier_share)),
        log_odds_(std::log(options.outlier_share) - log_share_ - 0.5 * std::log(options.outlier_variance)) {}

  template <class S>
  Point point(Vec eta, Vec y, const S& shape) const {
    const double shrink = 1.0 / options_.outlier_variance;
    const Vec scaled = (y - eta) * shape.precision;
    const Vec square = (y - eta) * scaled;
    const detail::Softplus outlier = detail::softplus(log_odds_ + 0.5 * (1.0 - shrink) * square);
    // Expected precision over sigma^-2 given which component the observation may belong to.
    const Vec share = 1.0 - (1.0 - shrink) * outlier.derivative;
    return {log_share_ - shape.log_scale - 0.5 * square + outlier.value, scaled * share,
            0.5 * (square * share - 1.0)};
  }

  std::string nuisance_name(Index) const override { return "log_sigma2"; }
  double nuisance_start(Index, ConstVectorRef y, ConstVectorRef w) const override {
    const double sd = weighted_sd(y, w);
    return sd > 0.0 ? 2.0 * std::log(sd) : 0.0;
  }
  double nuisance_prior(Index, double value, double& gradient) const override {
    const double scaled = options_.beta0 * std::exp(-value);
    gradient += scaled - options_.alpha0;
    return options_.alpha0 * (std::log(options_.beta0) - value) - std::lgamma(options_.alpha0) - scaled;
  }
  Shape shape(const double* own) const override { return {std::exp(-own[0]), 0.5 * own[0], {own[0]}}; }
  double simulate(double eta, const Shape& shape, std::mt19937_64& generator) const override {
    const bool outlier = std::bernoulli_distribution(options_.outlier_share)(generator);
    const double factor = outlier ? std::sqrt(options_.outlier_variance) : 1.0;
    return simulate_gaussian(eta, factor * std::exp(shape.log_scale), generator);
  }

 private:
  OutlierMixtureOptions options_;
  double log_share_;
  double log_odds_;  // of an outlier at residual 0
};

void require_positive(double value, const char* what) {
  if (!(value > 0.0 && std::isfinite(value)))
    throw UsageError(fmt::format("{} is {}, but it must be a positive number", what, value));
}

}  // namespace

std::vector<std::string> OutlierMixtureOptions::validate() const {
  std::vector<std::string> found;
  if (!(outlier_share > 0.0 && outlier_share < 1.0))
    found.push_back(fmt::format("outlier_share is {}, but it must lie between 0 and 1", outlier_share));
  if (!(outlier_variance >= 1.0 && std::isfinite(outlier_variance)))
    found.push_back(fmt::format("outlier_variance is {}, but it must be at least 1", outlier_variance));
  if (!(alpha0 > 0.0 && std::isfinite(alpha0)))
    found.push_back(fmt::format("alpha0 is {}, but it must be a positive number", alpha0));
  if (!(beta0 > 0.0 && std::isfinite(beta0)))
    found.push_back(fmt::format("beta0 is {}, but it must be a positive number", beta0));
  return found;
}

std::vector<std::string> Likelihood::validate_rows(const ResponseRows& rows) const {
  if (rows.trials) return {"this likelihood takes no numbers of trials; use the family binomial"};
  if (rows.status) return {"this likelihood takes no censored rows; use the families weibull or exponential"};
  return validate(Eigen::Map<const Vector>(rows.response, rows.rows));
}

double Likelihood::constant_of_rows(const ResponseRows& rows, ConstVectorRef weight) const {
  return constant(Eigen::Map<const Vector>(rows.response, rows.rows), weight);
}

std::shared_ptr<const Likelihood> poisson_log() { return std::make_shared<PoissonLog>(); }

std::shared_ptr<const Likelihood> gaussian(double sigma_prior_scale) {
  require_positive(sigma_prior_scale, "the scale of the prior on sigma");
  return std::make_shared<GaussianIdentity<HalfCauchySigma>>(HalfCauchySigma(sigma_prior_scale));
}

namespace detail {
std::shared_ptr<const Likelihood> gaussian(const PositivePrior& sigma) {
  return std::make_shared<GaussianIdentity<SigmaPrior>>(SigmaPrior(sigma));
}
}  // namespace detail

std::shared_ptr<const Likelihood> gaussian_known_noise(double sigma) {
  require_positive(sigma, "the known noise scale");
  return std::make_shared<GaussianKnownNoise>(sigma);
}

std::shared_ptr<const Likelihood> outlier_mixture(const OutlierMixtureOptions& options) {
  for (const std::string& problem : options.validate()) throw UsageError(problem);
  return std::make_shared<OutlierMixture>(options);
}

}  // namespace magva
