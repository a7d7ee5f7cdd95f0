#include <algorithm>
#include <cmath>

#include "models/half_cauchy.hpp"
#include "models/priors.hpp"

namespace magva::detail {

namespace {

/// The P-spline prior of the paper. With psi the persistence and beta' P beta =
/// (1 - psi^2) beta_1^2 + sum_i (beta_{i+1} - psi beta_i)^2, det P = 1 - psi^2.
class AutoregressivePrior final : public CoefficientPrior {
 public:
  AutoregressivePrior(const AutoregressivePriorOptions& options, Index coefficients)
      : options_(options), k_(coefficients) {}
  Index coefficients() const override { return k_; }
  Index dimension() const override { return k_ + 2; }

  double add_to(const double* theta, const double*, double* gradient) const override {
    const Scale scale = scale_at(theta[k_]);
    const double log_tau2 = scale.log_tau2;
    const double tau2 = std::exp(log_tau2);
    const double unit = 1.0 / (1.0 + std::exp(-theta[k_ + 1]));  // psi over its limit
    const double psi = options_.psi_limit * unit;
    const double stationary = 1.0 - psi * psi;

    double form = stationary * theta[0] * theta[0];
    double form_by_psi = -2.0 * psi * theta[0] * theta[0];
    gradient[0] -= tau2 * stationary * theta[0];
    for (Index i = 0; i + 1 < k_; ++i) {
      const double innovation = theta[i + 1] - psi * theta[i];
      form += innovation * innovation;
      form_by_psi -= 2.0 * innovation * theta[i];
      gradient[i] += tau2 * psi * innovation;
      gradient[i + 1] -= tau2 * innovation;
    }

    // w = 1 / tau^2 ~ Weibull(a, b), in log tau^2 = -log w: log a + a log(w / b) - (w / b)^a.
    const double power = std::exp(-options_.a_tau * (log_tau2 + std::log(options_.b_tau)));
    const double half_k = 0.5 * static_cast<double>(k_);
    const double by_log_tau2 = half_k - 0.5 * tau2 * form - options_.a_tau + options_.a_tau * power;
    gradient[k_] = by_log_tau2 * scale.slope + scale.log_slope_derivative;
    const double psi_by_logit = psi * (1.0 - unit);
    gradient[k_ + 1] = (-psi / stationary - 0.5 * tau2 * form_by_psi) * psi_by_logit + 1.0 - 2.0 * unit;

    const double log_normal = half_k * log_tau2 + 0.5 * std::log(stationary) - 0.5 * tau2 * form -
                              static_cast<double>(k_) * kHalfLogTwoPi;
    const double log_weibull = std::log(options_.a_tau) -
                               options_.a_tau * (log_tau2 + std::log(options_.b_tau)) - power +
                               scale.log_jacobian;
    // Uniform psi with the Jacobian of the logit: log unit + log(1 - unit), stable at both ends.
    const double t = theta[k_ + 1];
    const double log_logistic = -std::abs(t) - 2.0 * std::log1p(std::exp(-std::abs(t)));
    return log_normal + log_weibull + log_logistic;
  }

  /// A basis that sums to one makes a constant of equal coefficients.
  void start(VectorRef theta, double intercept, Index) const override {
    theta.head(k_).setConstant(intercept);
  }
  std::string parameter_name(Index i, const std::vector<std::string>& names) const override {
    if (i == k_) return options_.support == WeibullSupport::positive ? "log_tau2" : "logit_tau2";
    if (i == k_ + 1) return "logit_psi";
    return names[static_cast<std::size_t>(i)];
  }

 private:
  /// log tau^2 as a function of its coordinate.
  struct Scale {
    double log_tau2;
    double slope;                 ///< derivative of log tau^2
    double log_jacobian;          ///< log slope, and the normaliser of a restricted density
    double log_slope_derivative;  ///< derivative of log slope
  };
  Scale scale_at(double coordinate) const {
    if (options_.support == WeibullSupport::positive) return {coordinate, 1, 0, 0};
    // tau^2 = 1 / (1 + exp(-u)) < 1. P(1 / tau^2 > 1) = exp(-b^-a).
    const double rest = std::log1p(std::exp(-std::abs(coordinate)));
    const double log_tau2 = std::min(coordinate, 0.0) - rest;
    const double log_slope = -std::max(coordinate, 0.0) - rest;
    return {log_tau2, std::exp(log_slope), log_slope + std::pow(options_.b_tau, -options_.a_tau),
            -std::exp(log_tau2)};
  }

  AutoregressivePriorOptions options_;
  Index k_;
};

}  // namespace

std::shared_ptr<const CoefficientPrior> autoregressive_prior(const AutoregressivePriorOptions& options,
                                                             Index coefficients) {
  return std::make_shared<AutoregressivePrior>(options, coefficients);
}

}  // namespace magva::detail
