#include "models/expected_priors.hpp"

#include <cmath>

#include "models/half_cauchy.hpp"
#include "models/logistic_normal.hpp"

namespace magva::detail {

namespace {

/// One coordinate ~ N(0, variance).
double expect_normal(const GaussianView& q, Index i, double variance, VectorRef gradient,
                     SymmetricEntries& curvature) {
  gradient(i) -= q.mean(i) / variance;
  curvature.push_back({i, i, 1 / variance});
  return -kHalfLogTwoPi - .5 * std::log(variance) -
         .5 * (q.mean(i) * q.mean(i) + q.covariance(i, i)) / variance;
}

/// u = log(x / scale) for x ~ half-Cauchy(0, scale): log(2 / pi) + u - log(1 + exp(2 u)).
double expect_log_half_cauchy(const GaussianView& q, Index i, double log_scale, VectorRef gradient,
                              SymmetricEntries& curvature) {
  const double u = q.mean(i) - log_scale;
  const LogisticNormal twice = logistic_normal(2 * u, 4 * q.covariance(i, i));
  gradient(i) += 1 - 2 * twice.slope;
  curvature.push_back({i, i, 4 * twice.curvature});
  return kLogTwoOverPi + u - twice.value;
}

class ExpectedNormalPrior final : public ExpectedPrior {
 public:
  ExpectedNormalPrior(double variance, Index coefficients)
      : variance_(variance), coefficients_(coefficients) {}
  bool log_concave() const override { return true; }
  bool separable() const override { return true; }
  std::optional<IndependentNormals> independent_normals() const override {
    return IndependentNormals{
        Vector::Zero(coefficients_), Vector::Constant(coefficients_, std::sqrt(variance_)), std::nullopt, {}};
  }
  double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const override {
    double value = 0;
    for (Index i = 0; i < coefficients_; ++i) value += expect_normal(q, i, variance_, gradient, curvature);
    return value;
  }

 private:
  double variance_;
  Index coefficients_;
};

/// Coordinates: intercept, q slopes, q log lambda, log tau.
class ExpectedCentredHorseshoe final : public ExpectedPrior {
 public:
  ExpectedCentredHorseshoe(const HorseshoeOptions& options, Index coefficients)
      : intercept_variance_(options.intercept_variance),
        log_tau_scale_(std::log(options.tau_scale)),
        q_(coefficients - 1) {}
  bool log_concave() const override { return false; }

  double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const override {
    const Index tau = 2 * q_ + 1;
    double value = expect_normal(q, 0, intercept_variance_, gradient, curvature);
    value += expect_log_half_cauchy(q, tau, log_tau_scale_, gradient, curvature);
    for (Index j = 1; j <= q_; ++j) {
      value += expect_log_half_cauchy(q, j + q_, 0, gradient, curvature);
      value += expect_slope(q, j, gradient, curvature);
    }
    return value;
  }

 private:
  /// -log(2 pi)/2 - l - t - exp(-2 (l + t)) beta^2 / 2: weighted by the exponential, a Gaussian is one again,
  /// whose mean is moved by -2 times the covariances with l + t.
  double expect_slope(const GaussianView& q, Index j, VectorRef gradient, SymmetricEntries& curvature) const {
    const Index l = j + q_;
    const Index t = 2 * q_ + 1;
    const double scale_variance = q.covariance(l, l) + 2 * q.covariance(l, t) + q.covariance(t, t);
    const double precision = std::exp(-2 * (q.mean(l) + q.mean(t)) + 2 * scale_variance);
    const double slope = q.mean(j) - 2 * (q.covariance(j, l) + q.covariance(j, t));
    const double square = precision * (slope * slope + q.covariance(j, j));
    gradient(j) -= precision * slope;
    gradient(l) += square - 1;
    gradient(t) += square - 1;
    curvature.push_back({j, j, precision});
    curvature.push_back({l, j, -2 * precision * slope});
    curvature.push_back({t, j, -2 * precision * slope});
    curvature.push_back({l, l, 2 * square});
    curvature.push_back({t, l, 2 * square});
    curvature.push_back({t, t, 2 * square});
    return -kHalfLogTwoPi - q.mean(l) - q.mean(t) - .5 * square;
  }

  double intercept_variance_;
  double log_tau_scale_;
  Index q_;
};

}  // namespace

std::shared_ptr<const ExpectedPrior> expected_normal_prior(double variance, Index coefficients) {
  return std::make_shared<ExpectedNormalPrior>(variance, coefficients);
}
std::shared_ptr<const ExpectedPrior> expected_centred_horseshoe(const HorseshoeOptions& options,
                                                                Index coefficients) {
  return std::make_shared<ExpectedCentredHorseshoe>(options, coefficients);
}

}  // namespace magva::detail
