#pragma once
// The ELBO of a Gaussian without draws, and its derivatives, for a model that knows its expectations.
#include <cstdint>
#include <memory>

#include "magva/expectations.hpp"
#include "magva/model.hpp"

namespace magva {

/// Derivatives by the mean, W and d of N(mean, W W' + diag(d)^2).
struct LowRankDerivatives {
  Vector mean;
  Matrix factors;
  Vector residual_sd;
};

/// An ELBO with what a Newton step needs: E[gradient] and E[-Hessian].
struct CurvedElbo {
  double elbo;
  Vector gradient;
  Matrix curvature;
};

/// An ELBO with E[gradient] and what a covariance W W' + diag(d)^2 asks for of C = E[-Hessian].
struct ProductElbo {
  double elbo;
  Vector gradient;
  CurvatureProducts curvature;
};

/// One call is one pass over the data.
class ExactElbo {
 public:
  ExactElbo(const ExpectedLogDensity& expected, Workers& workers) : expected_(expected), workers_(workers) {}

  Index dimension() const { return expected_.dimension(); }
  const ExpectedLogDensity& expected() const { return expected_; }
  Workers& workers() { return workers_; }
  std::int64_t passes() const { return passes_; }
  /// Passes over the same data that were made elsewhere.
  void count(std::int64_t passes) { passes_ += passes; }

  /// A Gaussian that is too wide for the expectation to exist has the ELBO -infinity.
  double low_rank(ConstVectorRef mean, ConstMatrixRef factors, ConstVectorRef residual_sd,
                  LowRankDerivatives& out);
  ProductElbo low_rank_products(ConstVectorRef mean, ConstMatrixRef factors, ConstVectorRef residual_sd);
  /// With E[-Hessian], dense.
  CurvedElbo low_rank(ConstVectorRef mean, ConstMatrixRef factors, ConstVectorRef residual_sd);
  /// N(mean, root root'), root square.
  CurvedElbo full_rank(ConstVectorRef mean, ConstMatrixRef root, double log_determinant);
  /// The log density itself, its gradient and -Hessian at a point.
  CurvedElbo point(ConstVectorRef theta);
  /// Without the Hessian.
  double point(ConstVectorRef theta, Vector& gradient);

 private:
  Evaluation prepare(Index factors);
  double with_entropy(double expectation, double log_determinant) const;

  const ExpectedLogDensity& expected_;
  Workers& workers_;
  std::unique_ptr<Scratch> scratch_;
  Index scratch_factors_ = -1;
  std::int64_t passes_ = 0;
};

}  // namespace magva
