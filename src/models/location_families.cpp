// Responses around a location: gaussian and Student-t.
#include <limits>

#include "models/half_cauchy.hpp"
#include "models/pointwise_family.hpp"

namespace magva::detail {

namespace {

class GaussianFamily final : public PointwiseFamily<GaussianFamily> {
 public:
  explicit GaussianFamily(OwnParameters own)
      : PointwiseFamily(Distribution::gaussian, Link::identity, std::move(own)) {}

  struct Own {
    double log_sigma, precision;
  };
  Own prepare(const double* own) const { return {own[0], std::exp(-2 * own[0])}; }
  double constant(const Row&) const { return -kHalfLogTwoPi; }

  template <int kOrder>
  PointDerivatives point(const Row& row, double eta, const Own& own) const {
    const double r = row.y - eta;
    const double square = own.precision * r * r;
    PointDerivatives out;
    out.value = -own.log_sigma - .5 * square;
    if constexpr (kOrder >= 1) {
      out.by_eta = own.precision * r;
      out.by_own[0] = square - 1;
    }
    if constexpr (kOrder >= 2) {
      out.by_eta2 = -own.precision;
      out.by_eta_own[0] = -2 * own.precision * r;
      out.by_eta2_own[0] = 2 * own.precision;
      out.by_own2[0] = -2 * square;
    }
    return out;
  }

  /// Of the terms, only the square of y - eta is not linear in it.
  PointDerivatives expected_point(const Row& row, double mean, double variance, const Own& own) const {
    PointDerivatives out = point<2>(row, mean, own);
    const double more = own.precision * variance;
    out.value -= .5 * more;
    out.by_own[0] += more;
    out.by_own2[0] -= 2 * more;
    return out;
  }

  double eta_start(const ResponseRows& rows, ConstVectorRef weights) const override {
    return weighted_response_mean(rows, weights);
  }
  bool log_concave() const override { return false; }
  double mean(double eta, const double*, double) const override { return eta; }
  double variance(double, const double* own, double) const override { return std::exp(2 * own[0]); }
  double cdf(double y, double eta, const double* own, double) const override {
    return .5 * std::erfc((eta - y) * std::exp(-own[0]) / std::numbers::sqrt2);
  }
  double simulate(double eta, const double* own, double, std::mt19937_64& generator) const override {
    return eta + std::exp(own[0]) * std::normal_distribution<double>()(generator);
  }
};

/// With c = nu sigma^2, r = y - eta and D = c + r^2, log p = const(nu) - log sigma - (nu + 1) / 2 log(D / c).
class StudentTFamily final : public PointwiseFamily<StudentTFamily> {
 public:
  explicit StudentTFamily(OwnParameters own)
      : PointwiseFamily(Distribution::student_t, Link::identity, std::move(own)) {}

  struct Own {
    double log_sigma, nu, c;
    double normaliser;     // the part of log p that depends on nu alone
    double by_nu, by_nu2;  // its derivatives by log nu
  };
  Own prepare(const double* own) const {
    const double nu = std::exp(own[1]);
    const double gap = digamma(.5 * (nu + 1)) - digamma(.5 * nu);
    const double gap1 = trigamma(.5 * (nu + 1)) - trigamma(.5 * nu);
    return {own[0],
            nu,
            nu * std::exp(2 * own[0]),
            log_gamma(.5 * (nu + 1)) - log_gamma(.5 * nu) - .5 * (own[1] + std::log(std::numbers::pi)),
            .5 * nu * gap - .5,
            .5 * nu * gap + .25 * nu * nu * gap1};
  }
  double constant(const Row&) const { return 0; }
  /// Poles are where y - eta = i sigma sqrt(nu): how far depends on the parameters.
  static constexpr double kPoles = 0.5;

  template <int kOrder>
  PointDerivatives point(const Row& row, double eta, const Own& own) const {
    const double nu = own.nu;
    const double c = own.c;
    const double a = nu + 1;
    const double r = row.y - eta;
    const double log_ratio = std::log1p(r * r / c);
    PointDerivatives out;
    out.value = own.normaliser - own.log_sigma - .5 * a * log_ratio;
    if constexpr (kOrder == 0) return out;
    const double inverse = 1 / (c + r * r);
    const double share = r * r * inverse;
    out.by_eta = a * r * inverse;
    out.by_own = {a * share - 1, own.by_nu - .5 * nu * log_ratio + .5 * a * share};
    if constexpr (kOrder >= 2) {
      const double rest = c * inverse;  // 1 - share
      const double bend = (share - rest) * inverse;
      const double twist = -rest * a * (3 * share - rest) * inverse;
      out.by_eta2 = a * bend;
      out.by_eta3 = 2 * a * r * (share - 3 * rest) * inverse * inverse;
      out.by_eta_own = {-2 * a * r * rest * inverse, (nu - a * rest) * r * inverse};
      out.by_eta2_own = {2 * twist, nu * bend + twist};
      out.by_own2 = {-2 * a * rest * share, (nu - a * rest) * share,
                     own.by_nu2 - .5 * nu * log_ratio + nu * share - .5 * a * share * rest};
    }
    return out;
  }

  double eta_start(const ResponseRows& rows, ConstVectorRef weights) const override {
    return weighted_response_mean(rows, weights);
  }
  bool log_concave() const override { return false; }
  double mean(double eta, const double*, double) const override { return eta; }
  double variance(double, const double* own, double) const override {
    const double nu = std::exp(own[1]);
    return nu > 2 ? std::exp(2 * own[0]) * nu / (nu - 2) : std::numeric_limits<double>::infinity();
  }
  double cdf(double y, double eta, const double* own, double) const override {
    const double nu = std::exp(own[1]);
    const double t = (y - eta) * std::exp(-own[0]);
    const double tail = .5 * Eigen::numext::betainc(.5 * nu, .5, nu / (nu + t * t));
    return t > 0 ? 1 - tail : tail;
  }
  double simulate(double eta, const double* own, double, std::mt19937_64& generator) const override {
    return eta + std::exp(own[0]) * std::student_t_distribution<double>(std::exp(own[1]))(generator);
  }
};

}  // namespace

std::shared_ptr<const ResponseFamily> gaussian_family(OwnParameters own) {
  return std::make_shared<GaussianFamily>(std::move(own));
}
std::shared_ptr<const ResponseFamily> student_t_family(OwnParameters own) {
  return std::make_shared<StudentTFamily>(std::move(own));
}

}  // namespace magva::detail
