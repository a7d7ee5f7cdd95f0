// Positive responses and times: gamma, Weibull and exponential, log link; the last two with right-censoring.
#include "models/pointwise_family.hpp"

namespace magva::detail {

namespace {

double log_mean_response(const ResponseRows& rows, ConstVectorRef weights) {
  return std::log(weighted_response_mean(rows, weights));
}

/// With w = y exp(-eta), log p = a (log a + log w - w) - log Gamma(a) - log y.
class GammaFamily final : public PointwiseFamily<GammaFamily> {
 public:
  explicit GammaFamily(OwnParameters own) : PointwiseFamily(Distribution::gamma, Link::log, std::move(own)) {}

  struct Own {
    double log_shape, shape, log_gamma, digamma, trigamma;
  };
  Own prepare(const double* own) const {
    const double a = std::exp(own[0]);
    return {own[0], a, detail::log_gamma(a), detail::digamma(a), detail::trigamma(a)};
  }
  double constant(const Row& row) const { return -std::log(row.y); }

  template <int kOrder>
  PointDerivatives point(const Row& row, double eta, const Own& own) const {
    const double a = own.shape;
    const double log_w = std::log(row.y) - eta;
    const double w = std::exp(log_w);
    const double excess = own.log_shape + log_w - w;
    PointDerivatives out;
    out.value = a * excess - own.log_gamma;
    out.by_eta = a * (w - 1);
    out.by_own[0] = a * (excess + 1 - own.digamma);
    if constexpr (kOrder >= 2) {
      out.by_eta2 = -a * w;
      out.by_eta3 = a * w;
      out.by_eta_own[0] = out.by_eta;
      out.by_eta2_own[0] = out.by_eta2;
      out.by_own2[0] = out.by_own[0] + a * (1 - a * own.trigamma);
    }
    return out;
  }

  PointDerivatives expected_point(const Row& row, double mean, double variance, const Own& own) const {
    // E w = y exp(-mean + variance / 2), and log w is linear.
    PointDerivatives out = point<2>(row, mean - .5 * variance, own);
    const double less = .5 * own.shape * variance;
    out.value -= less;
    out.by_own[0] -= less;
    out.by_own2[0] -= less;
    return out;
  }

  double eta_start(const ResponseRows& rows, ConstVectorRef weights) const override {
    return log_mean_response(rows, weights);
  }
  bool log_concave() const override { return false; }
  double mean(double eta, const double*, double) const override { return std::exp(eta); }
  double variance(double eta, const double* own, double) const override { return std::exp(2 * eta - own[0]); }
  double cdf(double y, double eta, const double* own, double) const override {
    const double a = std::exp(own[0]);
    return y > 0 ? Eigen::numext::igamma(a, a * y * std::exp(-eta)) : 0;
  }
  double simulate(double eta, const double* own, double, std::mt19937_64& generator) const override {
    const double a = std::exp(own[0]);
    return std::exp(eta) / a * std::gamma_distribution<double>(a)(generator);
  }
};

/// With k the shape and z = k (log y - eta), log p = event (log k + z - log y) - exp(z).
class WeibullFamily final : public PointwiseFamily<WeibullFamily> {
 public:
  /// With no own parameter the shape is 1.
  WeibullFamily(Distribution family, OwnParameters own)
      : PointwiseFamily(family, Link::log, std::move(own)) {}

  struct Own {
    double log_shape, shape;
  };
  Own prepare(const double* own) const { return {log_shape(own), std::exp(log_shape(own))}; }
  double constant(const Row& row) const { return row.event == 0 ? 0 : -std::log(row.y); }

  template <int kOrder>
  PointDerivatives point(const Row& row, double eta, const Own& own) const {
    const double k = own.shape;
    const double d = row.event;
    const double z = k * (std::log(row.y) - eta);
    const double hazard = std::exp(z);  // cumulative
    PointDerivatives out;
    out.value = d * (own.log_shape + z) - hazard;
    out.by_eta = k * (hazard - d);
    out.by_own[0] = d * (1 + z) - z * hazard;
    if constexpr (kOrder >= 2) {
      out.by_eta2 = -k * k * hazard;
      out.by_eta3 = k * k * k * hazard;
      out.by_eta_own[0] = out.by_eta + k * z * hazard;
      out.by_eta2_own[0] = (2 + z) * out.by_eta2;
      out.by_own2[0] = z * (d - hazard - z * hazard);
    }
    return out;
  }

  /// z is normal: with the factor exp(z) it is normal again, its mean moved by its variance.
  PointDerivatives expected_point(const Row& row, double mean, double variance, const Own& own) const {
    const double k = own.shape;
    const double d = row.event;
    const double z = k * (std::log(row.y) - mean);
    const double z_variance = k * k * variance;
    const double hazard = std::exp(z + .5 * z_variance);
    const double z_hazard = hazard * (z + z_variance);
    const double z2_hazard = hazard * ((z + z_variance) * (z + z_variance) + z_variance);
    PointDerivatives out;
    out.value = d * (own.log_shape + z) - hazard;
    out.by_eta = k * (hazard - d);
    out.by_own[0] = d * (1 + z) - z_hazard;
    out.by_eta2 = -k * k * hazard;
    out.by_eta3 = k * k * k * hazard;
    out.by_eta_own[0] = out.by_eta + k * z_hazard;
    out.by_eta2_own[0] = 2 * out.by_eta2 - k * k * z_hazard;
    out.by_own2[0] = d * z - z_hazard - z2_hazard;
    return out;
  }

  /// Total time over events, as for an exponential distribution.
  double eta_start(const ResponseRows& rows, ConstVectorRef weights) const override {
    double time = 0;
    double events = .5;
    for (Index i = 0; i < rows.rows; ++i) {
      const double w = weights.size() == 0 ? 1.0 : weights(i);
      time += w * rows.response[i];
      events += w * (rows.status ? rows.status[i] : 1.0);
    }
    return std::log(time / events);
  }
  bool log_concave() const override { return own_count() == 0; }
  double mean(double eta, const double* own, double) const override {
    return std::exp(eta + log_gamma(1 + std::exp(-log_shape(own))));
  }
  double variance(double eta, const double* own, double) const override {
    const double inverse = std::exp(-log_shape(own));
    const double first = std::exp(eta + log_gamma(1 + inverse));
    return std::exp(2 * eta + log_gamma(1 + 2 * inverse)) - first * first;
  }
  double cdf(double y, double eta, const double* own, double) const override {
    if (!(y > 0)) return 0;
    return -std::expm1(-std::exp(std::exp(log_shape(own)) * (std::log(y) - eta)));
  }
  double simulate(double eta, const double* own, double, std::mt19937_64& generator) const override {
    const double e = std::exponential_distribution<double>()(generator);
    return std::exp(eta + std::exp(-log_shape(own)) * std::log(e));
  }

 private:
  double log_shape(const double* own) const { return own_count() == 0 ? 0.0 : own[0]; }
};

}  // namespace

std::shared_ptr<const ResponseFamily> gamma_family(OwnParameters own) {
  return std::make_shared<GammaFamily>(std::move(own));
}
std::shared_ptr<const ResponseFamily> weibull_family(OwnParameters own) {
  return std::make_shared<WeibullFamily>(Distribution::weibull, std::move(own));
}
std::shared_ptr<const ResponseFamily> exponential_family() {
  return std::make_shared<WeibullFamily>(Distribution::exponential, OwnParameters{});
}

}  // namespace magva::detail
