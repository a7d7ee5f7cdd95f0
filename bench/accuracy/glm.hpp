#pragma once
// A generalised linear model with normal priors whose ELBO is known for every Gaussian q, without any draws:
// under q each linear predictor is normal, so that E log-likelihood is a sum of one-dimensional integrals.
#include <string>

#include "magva/model.hpp"
#include "magva/posterior.hpp"

namespace magva::bench {

enum class Likelihood { kLogistic, kLinear, kPoisson };

class Glm final : public Model {
 public:
  /// y in {0, 1}, any number, or a count; prior N(0, prior_variance_i); linear: known noise sd 1.
  Glm(Likelihood likelihood, Matrix design, Vector response, Vector prior_variance);

  Index dimension() const override { return design_.cols(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation&) const override;

  /// E log h, its gradient for the mean, and the weights of E[-Hessian] = X' diag(weight) X + V^-1.
  struct Expectation {
    double value;
    Vector gradient;
    Vector weight;
  };
  /// `variance`: of each linear predictor; `marginal`: of each coefficient.
  Expectation expectation(ConstVectorRef mean, ConstVectorRef variance, ConstVectorRef marginal) const;
  Matrix expected_curvature(ConstVectorRef weight) const;
  /// Exact to about 1e-8.
  double elbo(const Gaussian& q) const;

  Likelihood likelihood() const { return likelihood_; }
  const Matrix& design() const { return design_; }
  const Vector& response() const { return response_; }
  const Vector& prior_variance() const { return prior_variance_; }

 private:
  Likelihood likelihood_;
  Matrix design_;
  Vector response_;
  Vector prior_variance_;
  double constant_ = 0;
};

}  // namespace magva::bench
