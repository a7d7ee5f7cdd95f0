// Counts: poisson and negative binomial, log link.
#include "models/pointwise_family.hpp"

namespace magva::detail {

namespace {

double start_of_log_mean(const ResponseRows& rows, ConstVectorRef weights) {
  double sum = .5;
  double total = .5;
  for (Index i = 0; i < rows.rows; ++i) {
    const double w = weights.size() == 0 ? 1.0 : weights(i);
    sum += w * rows.response[i];
    total += w;
  }
  return std::log(sum / total);
}

double simulate_poisson(double rate, std::mt19937_64& generator) {
  if (!(rate > 0)) return 0;
  // The counts are drawn as doubles: beyond 2^53 their spread is below their spacing.
  if (!(rate < 9e15)) return rate;
  return static_cast<double>(std::poisson_distribution<long long>(rate)(generator));
}

class PoissonFamily final : public PointwiseFamily<PoissonFamily> {
 public:
  PoissonFamily() : PointwiseFamily(Distribution::poisson, Link::log, {}) {}

  struct Own {};
  Own prepare(const double*) const { return {}; }
  double constant(const Row& row) const { return -log_gamma(row.y + 1); }

  template <int kOrder>
  PointDerivatives point(const Row& row, double eta, const Own&) const {
    const double rate = std::exp(eta);
    PointDerivatives out;
    out.value = row.y * eta - rate;
    out.by_eta = row.y - rate;
    out.by_eta2 = -rate;
    out.by_eta3 = -rate;
    return out;
  }
  VectorPoint points(Vec y, Vec /*trials*/, Vec eta) const {
    const Vec rate = detail::exp(eta);
    return {y * eta - rate, y - rate, -rate};
  }

  PointDerivatives expected_point(const Row& row, double mean, double variance, const Own& own) const {
    // E exp(eta) = exp(mean + variance / 2), and y eta is linear.
    PointDerivatives out = point<2>(row, mean + .5 * variance, own);
    out.value -= .5 * variance * row.y;
    return out;
  }

  double eta_start(const ResponseRows& rows, ConstVectorRef weights) const override {
    return start_of_log_mean(rows, weights);
  }
  bool log_concave() const override { return true; }
  double mean(double eta, const double*, double) const override { return std::exp(eta); }
  double variance(double eta, const double*, double) const override { return std::exp(eta); }
  double cdf(double y, double eta, const double*, double) const override {
    if (y < 0) return 0;
    const double mean = std::exp(eta), most = std::floor(y);
    // Short sums are faster than the function.
    return most <= kMostSummed && mean < kLargestSummed ? sum_to(mean, static_cast<int>(most))
                                                        : Eigen::numext::igammac(most + 1, mean);
  }
  double simulate(double eta, const double*, double, std::mt19937_64& generator) const override {
    return simulate_poisson(std::exp(eta), generator);
  }

 private:
  static constexpr double kMostSummed = 30;
  static constexpr double kLargestSummed = 500;
  /// exp(-mean) (1 + mean (1 + mean / 2 (1 + ...))), with as many factors as `most`.
  static double sum_to(double mean, int most) {
    double sum = 1;
    for (int k = most; k > 0; --k) sum = 1 + sum * mean / k;
    return std::min(1.0, sum * std::exp(-mean));
  }
};

/// log Gamma(shape + y) - log Gamma(shape) and its derivatives by the shape. Short sums are faster than the
/// functions' differences, and keep their digits where the shape is large.
struct RisingFactorial {
  double log, first, second;
};

template <int kOrder>
RisingFactorial rising_factorial(double shape, double y) {
  constexpr double kMostTerms = 24;
  RisingFactorial out{0, 0, 0};
  if (y <= kMostTerms) {
    double product = 1;
    for (double k = 0; k < y; ++k) {
      product *= shape + k;
      if (product > 1e250) {
        out.log += std::log(product);
        product = 1;
      }
      if constexpr (kOrder >= 1) out.first += 1 / (shape + k);
      if constexpr (kOrder >= 2) out.second -= 1 / ((shape + k) * (shape + k));
    }
    out.log += std::log(product);
    return out;
  }
  out.log = log_gamma(shape + y) - log_gamma(shape);
  if constexpr (kOrder >= 1) out.first = digamma(shape + y) - digamma(shape);
  if constexpr (kOrder >= 2) out.second = trigamma(shape + y) - trigamma(shape);
  return out;
}

/// With t = eta - log shape and p = 1 / (1 + exp(-t)), log p(y) = log rising factorial + y t -
/// (y + shape) log(1 + exp(t)) - log y!.
class NegativeBinomialFamily final : public PointwiseFamily<NegativeBinomialFamily> {
 public:
  explicit NegativeBinomialFamily(OwnParameters own)
      : PointwiseFamily(Distribution::negative_binomial, Link::log, std::move(own)) {}

  static constexpr double kPoles = std::numbers::pi;
  struct Own {
    double log_shape, shape;
  };
  Own prepare(const double* own) const { return {own[0], std::exp(own[0])}; }
  double constant(const Row& row) const { return -log_gamma(row.y + 1); }

  template <int kOrder>
  PointDerivatives point(const Row& row, double eta, const Own& own) const {
    Logistic at;
    at.add(eta - own.log_shape, 1);
    return point_of<kOrder>(row, eta, at, own);
  }

  /// Of the terms only these functions of t are not linear in it; what depends on y and the shape is computed
  /// once.
  PointDerivatives expected_point(const Row& row, double mean, double variance, const Own& own) const {
    const double sd = std::sqrt(variance);
    const PairRule* rule = normal_rule(sd * std::numbers::pi / kPoles);
    PointDerivatives out;
    out.value = std::numeric_limits<double>::quiet_NaN();
    if (!rule) return out;
    Logistic at;
    for (std::size_t k = 0; k < rule->node.size(); ++k)
      for (const double z : {-rule->node[k], rule->node[k]})
        at.add(mean + sd * z - own.log_shape, rule->weight[k]);
    return point_of<2>(row, mean, at, own);
  }

  double eta_start(const ResponseRows& rows, ConstVectorRef weights) const override {
    return start_of_log_mean(rows, weights);
  }
  bool log_concave() const override { return false; }
  double mean(double eta, const double*, double) const override { return std::exp(eta); }
  double variance(double eta, const double* own, double) const override {
    const double mean = std::exp(eta);
    return mean + mean * mean * std::exp(-own[0]);
  }
  double cdf(double y, double eta, const double* own, double) const override {
    if (y < 0) return 0;
    const double a = std::exp(own[0]), most = std::floor(y);
    const double log_zero = -a * log1p_exp(eta - own[0]);  // P(Y = 0)
    // Short sums are faster than the function.
    return most <= kMostSummed && log_zero > kLeastLogZero
               ? sum_to(a, inverse_logit(eta - own[0]), log_zero, static_cast<int>(most))
               : Eigen::numext::betainc(a, most + 1, inverse_logit(own[0] - eta));
  }
  double simulate(double eta, const double* own, double, std::mt19937_64& generator) const override {
    const double a = std::exp(own[0]);
    return simulate_poisson(std::exp(eta) / a * std::gamma_distribution<double>(a)(generator), generator);
  }

 private:
  /// At one t, or expected: log(1 + exp(t)), p, its derivative v by t, and v's.
  struct Logistic {
    double softplus = 0, p = 0, v = 0, v_slope = 0;

    void add(double t, double weight) {
      const double e = std::exp(-std::abs(t)), at = (t > 0 ? 1.0 : e) / (1 + e);
      softplus += weight * (std::max(t, 0.0) + std::log1p(e));
      p += weight * at;
      v += weight * at * (1 - at);
      v_slope += weight * at * (1 - at) * (1 - 2 * at);
    }
  };

  template <int kOrder>
  static PointDerivatives point_of(const Row& row, double eta, const Logistic& at, const Own& own) {
    const double a = own.shape, total = row.y + a;
    const RisingFactorial rising = rising_factorial<kOrder>(a, row.y);
    PointDerivatives out;
    out.value = rising.log + row.y * (eta - own.log_shape) - total * at.softplus;
    if constexpr (kOrder == 0) return out;
    out.by_eta = row.y - total * at.p;
    out.by_own[0] = a * (rising.first - at.softplus) - out.by_eta;
    if constexpr (kOrder >= 2) {
      out.by_eta2 = -total * at.v;
      out.by_eta3 = -total * at.v_slope;
      out.by_eta_own[0] = total * at.v - a * at.p;
      out.by_eta2_own[0] = total * at.v_slope - a * at.v;
      out.by_own2[0] = a * (rising.first - at.softplus + a * rising.second + 2 * at.p) - total * at.v;
    }
    return out;
  }

  static constexpr double kMostSummed = 100;
  static constexpr double kLeastLogZero = -500;
  /// P(0) (1 + a p (1 + (a + 1) p / 2 (1 + ...))), with as many factors as `most`.
  static double sum_to(double a, double p, double log_zero, int most) {
    double sum = 1;
    for (int k = most; k > 0; --k) sum = 1 + sum * p * ((a + k - 1) / k);
    return std::min(1.0, sum * std::exp(log_zero));
  }
};

}  // namespace

std::shared_ptr<const ResponseFamily> poisson_family() { return std::make_shared<PoissonFamily>(); }
std::shared_ptr<const ResponseFamily> negative_binomial_family(OwnParameters own) {
  return std::make_shared<NegativeBinomialFamily>(std::move(own));
}

}  // namespace magva::detail
