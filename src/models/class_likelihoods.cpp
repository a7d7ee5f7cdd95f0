// The cumulative logit and the softmax.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "magva/error.hpp"
#include "models/class_likelihood.hpp"
#include "models/pointwise_family.hpp"

namespace magva::detail {

namespace {

/// With U = c_(y+1) - eta and L = c_y - eta, P(y) = s(U) - s(L) = s(U) s(-L) (1 - exp(L - U)), s the logistic
/// function; s(U) = 1 for the last class and s(L) = 0 for the first.
class CumulativeLogit final : public ClassLikelihood {
 public:
  CumulativeLogit(Index classes, const CutPointPrior& prior) : ClassLikelihood(classes), prior_(prior) {
    const double nu = prior.degrees_of_freedom;
    const auto cuts = static_cast<double>(classes - 1);
    const double each = log_gamma(.5 * (nu + 1)) - log_gamma(.5 * nu) - .5 * std::log(nu * std::numbers::pi) -
                        std::log(prior.scale);
    constant_ = cuts * each + log_gamma(cuts + 1);  // one of (classes - 1)! orders
  }
  Index predictors() const override { return 1; }
  Index own_count() const override { return classes() - 1; }
  std::string own_name(Index k) const override {
    return k == 0 ? "cut[1]" : fmt::format("log_gap[{}]", k + 1);
  }

  void raw(const double* own, double* raw) const override {
    raw[0] = own[0];
    for (Index k = 1; k < own_count(); ++k) raw[k] = raw[k - 1] + std::exp(own[k]);
  }

  double finish(const double* own, const double* raw, const double* by_raw, double* gradient) const override {
    const double nu = prior_.degrees_of_freedom;
    const double c = nu * prior_.scale * prior_.scale;
    double value = constant_;
    double above = 0;  // derivative by this cut point and all above it
    for (Index k = own_count() - 1; k >= 0; --k) {
      const double r = raw[k] - prior_.location;
      value -= .5 * (nu + 1) * std::log1p(r * r / c);
      above += by_raw[k] - (nu + 1) * r / (c + r * r);
      gradient[k] = k == 0 ? above : above * std::exp(own[k]) + 1;
      if (k > 0) value += own[k];  // the Jacobian of the logarithm
    }
    return value;
  }

  double row(Index y, double weight, const double* eta, const double* raw, double* by_eta,
             double* by_raw) const override {
    const bool first = y == 0;
    const bool last = y == classes() - 1;
    const double upper = last ? 0 : raw[y] - *eta;
    const double lower = first ? 0 : raw[y - 1] - *eta;
    const double above = last ? 0 : inverse_logit(-upper);  // P(class > y)
    const double below = first ? 0 : inverse_logit(lower);  // P(class < y)
    double value = (last ? 0 : -log1p_exp(-upper)) - (first ? 0 : log1p_exp(lower));
    double narrow = 0;
    if (!first && !last) {
      const double gap = raw[y] - raw[y - 1];
      value += std::log(-std::expm1(-gap));
      narrow = 1 / std::expm1(gap);
    }
    *by_eta = weight * (below - above);
    if (!last) by_raw[y] += weight * (above + narrow);
    if (!first) by_raw[y - 1] -= weight * (below + narrow);
    return weight * value;
  }

  void probabilities(const double* eta, const double* raw, double* out) const override {
    double before = 0;
    for (Index k = 0; k + 1 < classes(); ++k) {
      const double at_most = inverse_logit(raw[k] - *eta);
      out[k] = std::max(0.0, at_most - before);
      before = at_most;
    }
    out[classes() - 1] = 1 - before;
  }

  void start(ConstVectorRef shares, double* own, double* eta) const override {
    *eta = 0;
    double at_most = 0;
    double cut_before = 0;
    for (Index k = 0; k < own_count(); ++k) {
      at_most += shares(k);
      const double cut = std::log(at_most / (1 - at_most));
      own[k] = k == 0 ? cut : std::log(cut - cut_before);
      cut_before = cut;
    }
  }

 private:
  CutPointPrior prior_;
  double constant_;
};

class Softmax final : public ClassLikelihood {
 public:
  using ClassLikelihood::ClassLikelihood;
  Index predictors() const override { return classes() - 1; }

  double row(Index y, double weight, const double* eta, const double*, double* by_eta,
             double*) const override {
    const double log_total = log_sum(eta);
    for (Index k = 0; k < predictors(); ++k)
      by_eta[k] = weight * ((k + 1 == y ? 1 : 0) - std::exp(eta[k] - log_total));
    return weight * ((y == 0 ? 0 : eta[y - 1]) - log_total);
  }
  void probabilities(const double* eta, const double*, double* out) const override {
    const double log_total = log_sum(eta);
    out[0] = std::exp(-log_total);
    for (Index k = 0; k < predictors(); ++k) out[k + 1] = std::exp(eta[k] - log_total);
  }
  void start(ConstVectorRef shares, double*, double* eta) const override {
    for (Index k = 0; k < predictors(); ++k) eta[k] = std::log(shares(k + 1) / shares(0));
  }

 private:
  /// log(1 + sum_k exp(eta_k)).
  double log_sum(const double* eta) const {
    const double top = std::max(0.0, *std::max_element(eta, eta + predictors()));
    double sum = std::exp(-top);
    for (Index k = 0; k < predictors(); ++k) sum += std::exp(eta[k] - top);
    return top + std::log(sum);
  }
};

void require_classes(Index classes) {
  if (classes < 2 || classes > kMostClasses)
    throw UsageError(fmt::format("there are {} classes, but there must be 2 to {}", classes, kMostClasses));
}

}  // namespace

}  // namespace magva::detail

namespace magva {

ClassRegression ordered_regression(RegressionData data, Index classes,
                                   std::shared_ptr<const CoefficientPrior> prior,
                                   const CutPointPrior& cut_points) {
  detail::require_classes(classes);
  return {std::move(data), std::make_shared<detail::CumulativeLogit>(classes, cut_points), std::move(prior)};
}

ClassRegression categorical_regression(RegressionData data, Index classes,
                                       std::shared_ptr<const CoefficientPrior> prior) {
  detail::require_classes(classes);
  return {std::move(data), std::make_shared<detail::Softmax>(classes), std::move(prior)};
}

}  // namespace magva
