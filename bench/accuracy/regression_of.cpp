#include "regression_of.hpp"

#include <cmath>
#include <numbers>

#include "magva/regression.hpp"
#include "models/prior.hpp"

namespace magva::bench {

namespace {

/// theta_i ~ N(0, v_i), each with a variance of its own.
class OwnVariances final : public CoefficientPrior {
 public:
  explicit OwnVariances(Vector variance) : variance_(std::move(variance)) {}
  Index coefficients() const override { return variance_.size(); }
  Index dimension() const override { return variance_.size(); }
  double add_to(const double* theta, const double*, double* gradient) const override {
    const Eigen::Map<const Vector> beta(theta, variance_.size());
    Eigen::Map<Vector>(gradient, variance_.size()) -= beta.cwiseQuotient(variance_);
    return constant() - .5 * beta.cwiseAbs2().cwiseQuotient(variance_).sum();
  }
  std::string parameter_name(Index i, const std::vector<std::string>& names) const override {
    return names[static_cast<std::size_t>(i)];
  }
  std::shared_ptr<const ExpectedPrior> expectations() const override {
    return std::make_shared<Expected>(variance_, constant());
  }

 private:
  class Expected final : public ExpectedPrior {
   public:
    Expected(Vector variance, double constant) : variance_(std::move(variance)), constant_(constant) {}
    bool log_concave() const override { return true; }
    bool separable() const override { return true; }
    double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const override {
      double value = constant_;
      for (Index i = 0; i < variance_.size(); ++i) {
        gradient(i) -= q.mean(i) / variance_(i);
        curvature.push_back({i, i, 1 / variance_(i)});
        value -= .5 * (q.mean(i) * q.mean(i) + q.covariance(i, i)) / variance_(i);
      }
      return value;
    }

   private:
    Vector variance_;
    double constant_;
  };

  double constant() const { return -.5 * (2 * std::numbers::pi * variance_.array()).log().sum(); }

  Vector variance_;
};

std::shared_ptr<const magva::Likelihood> likelihood_of(Likelihood likelihood) {
  switch (likelihood) {
    case Likelihood::kLogistic:
      return bernoulli_logit();
    case Likelihood::kPoisson:
      return poisson_log();
    case Likelihood::kLinear:
      return gaussian_known_noise(1);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<Model> regression_of(const Glm& glm) {
  return std::make_unique<Regression>(
      RegressionData{Design::own(RowMatrix(glm.design())), glm.response(), {}, {}},
      likelihood_of(glm.likelihood()), std::make_shared<OwnVariances>(glm.prior_variance()));
}

}  // namespace magva::bench
