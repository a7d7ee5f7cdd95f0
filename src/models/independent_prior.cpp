#include "magva/independent_prior.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "magva/error.hpp"
#include "models/half_cauchy.hpp"
#include "models/prior.hpp"

namespace magva {

namespace {

/// The log density of a coefficient's prior and its derivative.
struct PriorSlope {
  double value;
  double derivative;
};

PriorSlope normal_slope(double standardised, double scale) {
  return {-detail::kHalfLogTwoPi - std::log(scale) - .5 * standardised * standardised, -standardised / scale};
}

PriorSlope student_slope(double standardised, double scale, double nu) {
  const double constant = std::lgamma(.5 * (nu + 1)) - std::lgamma(.5 * nu) -
                          .5 * std::log(nu * std::numbers::pi) - std::log(scale);
  const double square = standardised * standardised;
  return {constant - .5 * (nu + 1) * std::log1p(square / nu),
          -(nu + 1) * standardised / (nu + square) / scale};
}

/// Of normal priors alone.
class ExpectedIndependentNormal final : public ExpectedPrior {
 public:
  explicit ExpectedIndependentNormal(std::shared_ptr<const IndependentPriors> priors)
      : priors_(std::move(priors)) {}
  bool log_concave() const override { return true; }
  double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const override {
    double value = 0;
    for (Index j = 0; j < priors_->size(); ++j) {
      const double scale = priors_->scale(j);
      const auto slope = normal_slope((q.mean(j) - priors_->location(j)) / scale, scale);
      value += slope.value - .5 * q.covariance(j, j) / (scale * scale);
      gradient(j) += slope.derivative;
      curvature.push_back({j, j, 1 / (scale * scale)});
    }
    return value;
  }

 private:
  std::shared_ptr<const IndependentPriors> priors_;
};

class IndependentPrior final : public CoefficientPrior {
 public:
  explicit IndependentPrior(IndependentPriors priors)
      : priors_(std::make_shared<const IndependentPriors>(std::move(priors))) {}
  Index coefficients() const override { return priors_->size(); }
  Index dimension() const override { return priors_->size(); }

  double add_to(const double* theta, const double*, double* gradient) const override {
    double value = 0;
    for (Index j = 0; j < priors_->size(); ++j) {
      const double scale = priors_->scale(j);
      const double standardised = (theta[j] - priors_->location(j)) / scale;
      const double nu = priors_->degrees(j);
      const auto slope =
          std::isinf(nu) ? normal_slope(standardised, scale) : student_slope(standardised, scale, nu);
      value += slope.value;
      gradient[j] += slope.derivative;
    }
    return value;
  }

  std::string parameter_name(Index i, const std::vector<std::string>& names) const override {
    return names[static_cast<std::size_t>(i)];
  }
  std::shared_ptr<const ExpectedPrior> expectations() const override {
    for (Index j = 0; j < priors_->size(); ++j)
      if (!std::isinf(priors_->degrees(j))) return nullptr;
    return std::make_shared<ExpectedIndependentNormal>(priors_);
  }

 private:
  std::shared_ptr<const IndependentPriors> priors_;
};

}  // namespace

std::shared_ptr<const CoefficientPrior> independent_prior(IndependentPriors priors) {
  if (priors.scale.size() != priors.size() ||
      (priors.degrees_of_freedom.size() > 0 && priors.degrees_of_freedom.size() != priors.size()))
    throw UsageError("priors: there must be a location and a scale for each coefficient");
  for (Index j = 0; j < priors.size(); ++j)
    if (!(priors.scale(j) > 0 && std::isfinite(priors.scale(j)) && std::isfinite(priors.location(j)) &&
          priors.degrees(j) > 0))
      throw UsageError(
          fmt::format("the prior of coefficient {} has location {} and scale {}, but it needs a finite "
                      "location and a positive scale",
                      j + 1, priors.location(j), priors.scale(j)));
  return std::make_shared<IndependentPrior>(std::move(priors));
}

}  // namespace magva
