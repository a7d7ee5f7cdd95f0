// Successes out of trials: bernoulli and binomial, with logit, probit or cloglog link.
#include "models/half_cauchy.hpp"
#include "models/pointwise_family.hpp"

namespace magva::detail {

namespace {

/// log P and its first three derivatives by eta.
struct LogProbability {
  double value, first, second, third;
};

struct LogitLink {
  static constexpr double kPoles = std::numbers::pi;
  static constexpr Link kLink = Link::logit;
  static LogProbability success(double eta) {
    const double p = inverse_logit(eta);
    const double v = p * (1 - p);
    return {-log1p_exp(-eta), 1 - p, -v, -v * (1 - 2 * p)};
  }
  static LogProbability failure(double eta) {
    const double p = inverse_logit(eta);
    const double v = p * (1 - p);
    return {-log1p_exp(eta), -p, -v, -v * (1 - 2 * p)};
  }
  /// y eta - n log(1 + exp(eta)).
  static VectorPoint points(Vec y, Vec trials, Vec eta) {
    const Softplus softplus = detail::softplus(eta);
    const Vec mean = trials * softplus.derivative;
    return {y * eta - trials * softplus.value, y - mean, mean * (softplus.derivative - 1.0)};
  }
  /// The sum of log(1 + exp(-|eta|)) is the logarithm of a product, of some hundred factors at a time.
  static double sum_of_rows(const double* y, const double* eta, Index rows) {
    constexpr Index kWidth = kLanes<Vec>;
    constexpr Index kFactors = 512;
    double sum = 0;
    for (Index begin = 0; begin < rows; begin += kFactors * kWidth) {
      const Index end = std::min(rows, begin + kFactors * kWidth);
      Vec linear = {};
      Vec product = set(1.0);
      const auto take = [&](Vec y_here, Vec eta_here) {
        linear += y_here * eta_here - max(eta_here, Vec{});
        product *= exp(-abs(eta_here)) + 1.0;
      };
      Index i = begin;
      for (; i + kWidth <= end; i += kWidth) take(load(y + i), load(eta + i));
      if (i < end) {
        double last_y[kWidth] = {};
        double last_eta[kWidth];
        std::fill_n(last_eta, kWidth, -1e3);  // adds nothing
        std::copy(y + i, y + end, last_y);
        std::copy(eta + i, eta + end, last_eta);
        take(load(last_y), load(last_eta));
      }
      for (Index k = 0; k < kWidth; ++k) sum += linear[k] - std::log(product[k]);
    }
    return sum;
  }
  static double probability(double eta) { return inverse_logit(eta); }
  static double start(double p) { return std::log(p / (1 - p)); }
};

/// log Phi(x) with h = phi / Phi its first derivative, h' = -h (x + h).
struct ProbitLink {
  static constexpr double kPoles = 2.8;  // complex zeros of Phi
  static constexpr Link kLink = Link::probit;
  static LogProbability success(double x) {
    double log_cdf = 0;
    double h = 0;
    if (x > -37) {
      const double cdf = .5 * std::erfc(-x / std::numbers::sqrt2);
      log_cdf = std::log(cdf);
      h = std::exp(-.5 * x * x - kHalfLogTwoPi) / cdf;
    } else {  // the asymptotic series of Mills' ratio
      const double s = 1 / (x * x);
      const double series = 1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s)));
      log_cdf = -.5 * x * x - std::log(-x) - kHalfLogTwoPi + std::log(series);
      h = -x / series;
    }
    const double second = -h * (x + h);
    return {log_cdf, h, second, -second * (x + 2 * h) - h};
  }
  static LogProbability failure(double x) {
    const LogProbability mirrored = success(-x);
    return {mirrored.value, -mirrored.first, mirrored.second, -mirrored.third};
  }
  static double probability(double eta) { return .5 * std::erfc(-eta / std::numbers::sqrt2); }
  static double start(double p) {  // Newton's steps on Phi(x) = p, from the logit's neighbour
    double x = std::log(p / (1 - p)) / 1.6;
    for (int k = 0; k < 5; ++k) x -= (probability(x) - p) / std::exp(-.5 * x * x - kHalfLogTwoPi);
    return x;
  }
};

/// P = 1 - exp(-m), m = exp(eta). With h = m / (exp(m) - 1), (log P)' = h and h' = h (1 - m - h).
struct CloglogLink {
  static constexpr double kPoles = std::numbers::pi / 2;
  static constexpr Link kLink = Link::cloglog;
  static LogProbability success(double eta) {
    const double m = std::exp(eta);
    if (m > 700) return {0, 0, 0, 0};
    const double h = m < 1e-300 ? 1.0 : m / std::expm1(m);
    const double bend = 1 - m - h;
    const double value = eta < -30 ? eta - .5 * m : std::log(-std::expm1(-m));
    return {value, h, h * bend, h * bend * bend - h * (m + h * bend)};
  }
  static LogProbability failure(double eta) {
    const double m = std::exp(eta);
    return {-m, -m, -m, -m};
  }
  static double probability(double eta) { return -std::expm1(-std::exp(eta)); }
  static double start(double p) { return std::log(-std::log1p(-p)); }
};

template <class L>
class BinomialFamily final : public PointwiseFamily<BinomialFamily<L>> {
 public:
  explicit BinomialFamily(Distribution family)
      : PointwiseFamily<BinomialFamily<L>>(family, L::kLink, OwnParameters{}) {}

  static constexpr double kPoles = L::kPoles;
  struct Own {};
  Own prepare(const double*) const { return {}; }
  double constant(const Row& row) const {
    return log_gamma(row.trials + 1) - log_gamma(row.y + 1) - log_gamma(row.trials - row.y + 1);
  }

  template <int kOrder>
  PointDerivatives point(const Row& row, double eta, const Own&) const {
    PointDerivatives out;
    add<kOrder>(row.y, eta, L::success, out);
    add<kOrder>(row.trials - row.y, eta, L::failure, out);
    return out;
  }

  VectorPoint points(Vec y, Vec trials, Vec eta) const requires requires { L::points(y, trials, eta); }
  { return L::points(y, trials, eta); }

  double sum_of_rows(const double* y, const double* eta, Index rows) const requires requires {
    L::sum_of_rows(y, eta, rows);
  }
  { return L::sum_of_rows(y, eta, rows); }

  double eta_start(const ResponseRows& rows, ConstVectorRef weights) const override {
    double successes = .5;
    double total = 1;
    for (Index i = 0; i < rows.rows; ++i) {
      const double w = weights.size() == 0 ? 1.0 : weights(i);
      successes += w * rows.response[i];
      total += w * (rows.trials ? rows.trials[i] : 1.0);
    }
    return L::start(successes / total);
  }
  bool log_concave() const override { return true; }
  double mean(double eta, const double*, double trials) const override {
    return trials * L::probability(eta);
  }
  double variance(double eta, const double*, double trials) const override {
    const double p = L::probability(eta);
    return trials * p * (1 - p);
  }
  double cdf(double y, double eta, const double*, double trials) const override {
    const double k = std::floor(y);
    if (k < 0) return 0;
    if (k >= trials) return 1;
    if (trials == 1) return 1 - L::probability(eta);
    return Eigen::numext::betainc(trials - k, k + 1, 1 - L::probability(eta));
  }
  double simulate(double eta, const double*, double trials, std::mt19937_64& generator) const override {
    const double p = std::min(L::probability(eta), 1.0);
    return static_cast<double>(
        std::binomial_distribution<long long>(static_cast<long long>(trials), p)(generator));
  }

 private:
  template <int kOrder>
  static void add(double count, double eta, LogProbability (*log_probability)(double),
                  PointDerivatives& out) {
    if (count == 0) return;  // and not 0 times infinity
    const LogProbability p = log_probability(eta);
    out.value += count * p.value;
    if constexpr (kOrder >= 1) out.by_eta += count * p.first;
    if constexpr (kOrder >= 2) {
      out.by_eta2 += count * p.second;
      out.by_eta3 += count * p.third;
    }
  }
};

}  // namespace

std::shared_ptr<const ResponseFamily> binomial_family(Distribution family, Link link) {
  if (link == Link::probit) return std::make_shared<BinomialFamily<ProbitLink>>(family);
  if (link == Link::cloglog) return std::make_shared<BinomialFamily<CloglogLink>>(family);
  return std::make_shared<BinomialFamily<LogitLink>>(family);
}

}  // namespace magva::detail
