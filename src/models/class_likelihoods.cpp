// The cumulative logit and the softmax.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "magva/error.hpp"
#include "models/class_likelihood.hpp"
#include "models/cut_points.hpp"

namespace magva::detail {

namespace {

class CumulativeLogit final : public ClassLikelihood {
 public:
  CumulativeLogit(Index classes, const CutPointPrior& prior)
      : ClassLikelihood(classes), cuts_(classes - 1, prior) {}
  Index predictors() const override { return 1; }
  Index own_count() const override { return cuts_.count(); }
  std::string own_name(Index k) const override { return cuts_.coordinate_name(k); }

  void raw(const double* own, double* raw) const override { cuts_.at(own, raw); }

  double finish(const double* own, const double*, const double* by_raw, double* gradient) const override {
    std::fill_n(gradient, own_count(), 0.0);
    cuts_.add_gradient(own, by_raw, gradient);
    return cuts_.add_log_prior(own, gradient);
  }

  double row(Index y, double weight, const double* eta, const double* raw, double* by_eta,
             double* by_raw) const override {
    const PointDerivatives point = cumulative_logit<1>(y, classes(), *eta, raw);
    *by_eta = weight * point.by_eta;
    if (y + 1 < classes()) by_raw[y] += weight * point.by_own[0];
    if (y > 0) by_raw[y - 1] += weight * point.by_own[1];
    return weight * point.value;
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
    cuts_.coordinates_of(cuts_of_shares(shares).data(), own);
  }

 private:
  CutPoints cuts_;
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

}  // namespace

void require_classes(Index classes) {
  if (classes < 2 || classes > kMostClasses)
    throw UsageError(fmt::format("there are {} classes, but there must be 2 to {}", classes, kMostClasses));
}

std::shared_ptr<const ClassLikelihood> cumulative_logit_likelihood(Index classes,
                                                                   const CutPointPrior& prior) {
  require_classes(classes);
  return std::make_shared<CumulativeLogit>(classes, prior);
}

std::shared_ptr<const ClassLikelihood> softmax_likelihood(Index classes) {
  require_classes(classes);
  return std::make_shared<Softmax>(classes);
}

}  // namespace magva::detail

namespace magva {

ClassRegression ordered_regression(RegressionData data, Index classes,
                                   std::shared_ptr<const CoefficientPrior> prior,
                                   const CutPointPrior& cut_points) {
  return {std::move(data), detail::cumulative_logit_likelihood(classes, cut_points), std::move(prior)};
}

ClassRegression categorical_regression(RegressionData data, Index classes,
                                       std::shared_ptr<const CoefficientPrior> prior) {
  return {std::move(data), detail::softmax_likelihood(classes), std::move(prior)};
}

}  // namespace magva
