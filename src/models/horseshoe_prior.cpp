#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/vector_math.hpp"
#include "models/expected_priors.hpp"
#include "models/half_cauchy.hpp"
#include "models/priors.hpp"

namespace magva::detail {

namespace {

constexpr Index kStep = kLanes<Vec>;

/// sum_j log(1 + e_j) with 0 <= e_j <= 1 as the logarithm of a product, taken before it can overflow. The
/// last vector is filled up with e = 1.
class LogProduct {
 public:
  void multiply(Vec one_plus_e) {
    product_ *= one_plus_e;
    if (++factors_ == kMost) fold();
  }
  double value(Index terms) {
    fold();
    const Index fillers = (kStep - terms % kStep) % kStep;
    return sum_ - static_cast<double>(fillers) * std::numbers::ln2;
  }

 private:
  static constexpr int kMost = 512;  // 2^512 is far from overflow
  void fold() {
    for (Index i = 0; i < kStep; ++i) sum_ += std::log(product_[i]);
    product_ = set(1.0);
    factors_ = 0;
  }
  Vec product_ = set(1.0);
  double sum_ = 0.0;
  int factors_ = 0;
};

/// The layout and the parts that both forms share: intercept, q slopes, q log lambda, log tau.
class Horseshoe : public CoefficientPrior {
 public:
  Horseshoe(const HorseshoeOptions& options, Index coefficients) : options_(options), q_(coefficients - 1) {}
  Index coefficients() const final { return q_ + 1; }
  Index dimension() const final { return 2 * q_ + 2; }

  std::string parameter_name(Index i, const std::vector<std::string>& names) const final {
    if (i == 0) return names[0];
    if (i <= q_) return slope_name(names[static_cast<std::size_t>(i)]);
    if (i <= 2 * q_) return "log_lambda[" + names[static_cast<std::size_t>(i - q_)] + "]";
    return "log_tau";
  }

  void start(VectorRef theta, double intercept, Index rows) const final {
    theta(0) = intercept;
    theta(2 * q_ + 1) = options_.start_log_tau ? *options_.start_log_tau : default_log_tau(rows);
  }

 protected:
  const HorseshoeOptions& options() const { return options_; }
  virtual std::string slope_name(const std::string& name) const = 0;
  virtual double default_log_tau(Index rows) const = 0;
  Index slopes() const { return q_; }

  /// The parts of the log prior that do not involve slopes; `log_lambda_part` is sum_j -|l_j| - log(1 + e_j).
  double add_scalars(const double* theta, double log_lambda_part, double* gradient) const {
    const double v = options_.intercept_variance;
    gradient[0] -= theta[0] / v;
    const auto tau = log_half_cauchy(theta[2 * q_ + 1] - std::log(options_.tau_scale));
    gradient[2 * q_ + 1] += tau.derivative;
    return -kHalfLogTwoPi - 0.5 * std::log(v) - 0.5 * theta[0] * theta[0] / v + tau.value +
           static_cast<double>(q_) * kLogTwoOverPi + log_lambda_part;
  }

 private:
  HorseshoeOptions options_;
  Index q_;
};

/// tanh(l) = sign(l) (1 - e) / (1 + e) with e = exp(-2 |l|).
inline Vec tanh_from(Vec l, Vec e) {
  const Vec one = set(1.0);
  const Vec size = (one - e) / (one + e);
  return l > Vec{} ? size : -size;
}

class CentredHorseshoe final : public Horseshoe {
 public:
  using Horseshoe::Horseshoe;

  double add_to(const double* theta, const double*, double* gradient) const override {
    const Index q = slopes();
    const double log_tau = theta[2 * q + 1];
    const Vec tau_precision = set(std::exp(-2.0 * log_tau));
    const Vec one = set(1.0);
    Vec sizes{};    // sum_j |l_j|
    Vec logs{};     // sum_j l_j
    Vec squares{};  // sum_j beta_j^2 / (lambda_j tau)^2
    LogProduct product;

    const auto step = [&](Vec beta, Vec l, Vec slope_gradient) {
      const Vec size = abs(l);
      const Vec e = exp(-2.0 * size);
      const Vec scaled = beta * ((l > Vec{} ? e : one / e) * tau_precision);
      const Vec square = beta * scaled;
      sizes += size;
      logs += l;
      squares += square;
      product.multiply(one + e);
      return std::pair{slope_gradient - scaled, square - one - tanh_from(l, e)};
    };
    const double* beta = theta + 1;
    const double* l = theta + 1 + q;
    double* by_beta = gradient + 1;
    double* by_l = gradient + 1 + q;
    Index j = 0;
    for (; j + kStep <= q; j += kStep) {
      const auto [slope, scale] = step(load(beta + j), load(l + j), load(by_beta + j));
      store(by_beta + j, slope);
      store(by_l + j, scale);
    }
    if (const Index rest = q - j; rest > 0) {
      const auto [slope, scale] = step(masked_load(beta + j, rest, 0.0), masked_load(l + j, rest, 0.0),
                                       masked_load(by_beta + j, rest, 0.0));
      masked_store(by_beta + j, rest, slope);
      masked_store(by_l + j, rest, scale);
    }
    const double all_squares = reduce_sum(squares);
    gradient[2 * q + 1] = all_squares - static_cast<double>(q);
    const double slopes_part =
        -static_cast<double>(q) * (kHalfLogTwoPi + log_tau) - reduce_sum(logs) - 0.5 * all_squares;
    return slopes_part + add_scalars(theta, -reduce_sum(sizes) - product.value(q), gradient);
  }

  std::shared_ptr<const ExpectedPrior> expectations() const override {
    return expected_centred_horseshoe(options(), coefficients());
  }

 protected:
  std::string slope_name(const std::string& name) const override { return name; }
  double default_log_tau(Index rows) const override {
    const double n = static_cast<double>(rows);
    const double q = static_cast<double>(slopes());
    const double expected = 0.5 * std::min(n, q);
    return q > 0.0 ? std::log(expected / (q - expected) * 2.0 / std::sqrt(n)) : 0.0;
  }
};

/// The buffer holds the coefficients, then lambda.
class NoncentredHorseshoe final : public Horseshoe {
 public:
  using Horseshoe::Horseshoe;
  Index buffer_size() const override { return 2 * slopes() + 1; }
  bool coefficients_are_coordinates() const override { return false; }

  const double* coefficients_at(const double* theta, double* buffer) const override {
    const Index q = slopes();
    const double tau = std::exp(theta[2 * q + 1]);
    buffer[0] = theta[0];
    const auto step = [tau](Vec xi, Vec lambda) { return xi * (lambda * tau); };
    Index j = 0;
    for (; j + kStep <= q; j += kStep) {
      const Vec lambda = exp(load(theta + 1 + q + j));
      store(buffer + 1 + j, step(load(theta + 1 + j), lambda));
      store(buffer + 1 + q + j, lambda);
    }
    if (const Index rest = q - j; rest > 0) {
      const Vec lambda = exp(masked_load(theta + 1 + q + j, rest, 0.0));
      masked_store(buffer + 1 + j, rest, step(masked_load(theta + 1 + j, rest, 0.0), lambda));
      masked_store(buffer + 1 + q + j, rest, lambda);
    }
    return buffer;
  }

  double add_to(const double* theta, const double* buffer, double* gradient) const override {
    const Index q = slopes();
    const double tau = std::exp(theta[2 * q + 1]);
    const Vec one = set(1.0);
    Vec sizes{};    // sum_j |l_j|
    Vec squares{};  // sum_j xi_j^2
    Vec by_tau{};   // sum_j beta_j dlogp / dbeta_j
    LogProduct product;

    const auto step = [&](Vec xi, Vec l, Vec beta, Vec lambda, Vec by_beta) {
      const Vec square = lambda * lambda;
      const Vec e = l > Vec{} ? one / square : square;
      const Vec by_scale = by_beta * beta;
      sizes += abs(l);
      squares += xi * xi;
      by_tau += by_scale;
      product.multiply(one + e);
      return std::pair{by_beta * (lambda * tau) - xi, by_scale - tanh_from(l, e)};
    };
    const double* xi = theta + 1;
    const double* l = theta + 1 + q;
    const double* beta = buffer + 1;
    const double* lambda = buffer + 1 + q;
    double* by_xi = gradient + 1;
    double* by_l = gradient + 1 + q;
    Index j = 0;
    for (; j + kStep <= q; j += kStep) {
      const auto [slope, scale] =
          step(load(xi + j), load(l + j), load(beta + j), load(lambda + j), load(by_xi + j));
      store(by_xi + j, slope);
      store(by_l + j, scale);
    }
    if (const Index rest = q - j; rest > 0) {
      const auto [slope, scale] = step(masked_load(xi + j, rest, 0.0), masked_load(l + j, rest, 0.0),
                                       masked_load(beta + j, rest, 0.0), masked_load(lambda + j, rest, 1.0),
                                       masked_load(by_xi + j, rest, 0.0));
      masked_store(by_xi + j, rest, slope);
      masked_store(by_l + j, rest, scale);
    }
    gradient[2 * q + 1] = reduce_sum(by_tau);
    const double slopes_part = -static_cast<double>(q) * kHalfLogTwoPi - 0.5 * reduce_sum(squares);
    return slopes_part + add_scalars(theta, -reduce_sum(sizes) - product.value(q), gradient);
  }

 protected:
  std::string slope_name(const std::string& name) const override { return "xi[" + name + "]"; }
  double default_log_tau(Index) const override { return 0.0; }
};

}  // namespace

std::shared_ptr<const CoefficientPrior> centred_horseshoe(const HorseshoeOptions& options,
                                                          Index coefficients) {
  return std::make_shared<CentredHorseshoe>(options, coefficients);
}

std::shared_ptr<const CoefficientPrior> noncentred_horseshoe(const HorseshoeOptions& options,
                                                             Index coefficients) {
  return std::make_shared<NoncentredHorseshoe>(options, coefficients);
}

}  // namespace magva::detail
