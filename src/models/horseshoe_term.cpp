// The horseshoe and the regularised horseshoe on a block of coefficients, non-centred: beta_j = xi_j m_j with
// log m_j = a_j = log tau + log lambda_j, or with a slab -log(exp(-2 a_j) + exp(-2 log c)) / 2.
#include <cmath>
#include <numbers>

#include "models/half_cauchy.hpp"
#include "models/prior_block.hpp"

namespace magva::detail {

namespace {

class HorseshoeTerm final : public PriorTerm {
 public:
  HorseshoeTerm(const HorseshoeBlock& prior, const BlockPlace& place)
      : PriorTerm(place),
        regularised_(prior.slab_scale.has_value()),
        log_global_scale_(std::log(prior.global_scale)),
        log_slab_scale_(std::log(prior.slab_scale.value_or(1.0))),
        slab_variance_(PositivePrior::inverse_gamma(
            .5 * prior.slab_degrees_of_freedom,
            .5 * prior.slab_degrees_of_freedom * std::pow(prior.slab_scale.value_or(1.0), 2))) {}

  bool coefficients_are_coordinates() const override { return false; }
  bool has_expectations() const override { return false; }
  bool log_concave() const override { return false; }
  bool separable() const override { return false; }
  double expect(const GaussianView&, VectorRef, SymmetricEntries&) const override {
    return std::numeric_limits<double>::quiet_NaN();
  }

  void coefficients_at(const double* theta, double* coefficients) const override {
    for (Index j = 0; j < place_.count; ++j)
      coefficients[place_.first + j] = theta[place_.first + j] * std::exp(multiplier(theta, j).log);
  }

  double add_to(const double* theta, double* gradient) const override {
    double value = add_scale_priors(theta, gradient);
    for (Index j = 0; j < place_.count; ++j) {
      const double xi = theta[place_.first + j];
      const Multiplier m = multiplier(theta, j);
      double& by_coordinate = gradient[place_.first + j];
      const double by_log_m = by_coordinate * xi * std::exp(m.log);
      by_coordinate = by_coordinate * std::exp(m.log) - xi;
      gradient[lambda(j)] += by_log_m * m.by_tail;
      gradient[tau()] += by_log_m * m.by_tail;
      if (regularised_) gradient[slab()] += by_log_m * (1 - m.by_tail);
      value -= kHalfLogTwoPi + .5 * xi * xi;
    }
    return value;
  }

  void start(VectorRef theta) const override {
    theta(tau()) = log_global_scale_;
    if (regularised_) theta(slab()) = log_slab_scale_;
  }
  std::string coefficient_name(const std::string& name) const override { return "xi[" + name + "]"; }
  std::string hyper_name(Index k, const std::vector<std::string>& names) const override {
    if (k < place_.count) return "log_lambda[" + names[static_cast<std::size_t>(place_.first + k)] + "]";
    return k == place_.count ? "log_tau" : "log_c";
  }

 private:
  /// log m and its derivative by log lambda and log tau; that by log c is the rest to 1.
  struct Multiplier {
    double log;
    double by_tail;
  };
  Multiplier multiplier(const double* theta, Index j) const {
    const double a = theta[tau()] + theta[lambda(j)];
    if (!regularised_) return {a, 1};
    const double gap = 2 * (theta[slab()] - a);
    const double log = std::min(a, theta[slab()]) - .5 * std::log1p(std::exp(-std::abs(gap)));
    return {log, 1 / (1 + std::exp(-gap))};
  }

  double add_scale_priors(const double* theta, double* gradient) const {
    double value = 0;
    const auto half_cauchy = [&](Index i, double log_scale) {
      const LogHalfCauchy density = log_half_cauchy(theta[i] - log_scale);
      gradient[i] += density.derivative;
      value += density.value;
    };
    for (Index j = 0; j < place_.count; ++j) half_cauchy(lambda(j), 0);
    half_cauchy(tau(), log_global_scale_);
    if (regularised_) {
      const LogScaleDensity density = slab_variance_.at(2 * theta[slab()]);  // of log c^2 = 2 log c
      gradient[slab()] += 2 * density.first;
      value += density.value + std::numbers::ln2;
    }
    return value;
  }

  Index lambda(Index j) const { return place_.hyper + j; }
  Index tau() const { return place_.hyper + place_.count; }
  Index slab() const { return tau() + 1; }

  bool regularised_;
  double log_global_scale_;
  double log_slab_scale_;
  PositivePrior slab_variance_;
};

}  // namespace

std::shared_ptr<const PriorTerm> make_term(const HorseshoeBlock& prior, const BlockPlace& place) {
  return std::make_shared<HorseshoeTerm>(prior, place);
}

}  // namespace magva::detail
