#pragma once
// An ascent by gradients to the best full-rank Gaussian, for where Newton steps hardly advance: where
// E[-Hessian] changes much with the covariance, as for counts that are nearly all 0 under a wide prior.
//
// Over the mean and a triangular root of the covariance the ELBO of a concave log density is concave (Challis
// and Barber 2013). mean = centre + R u and root = R T with R the root at the start and T upper triangular,
// its diagonal exp(t): all scales are about 1 there.
#include "exact/riemannian_lbfgs.hpp"

namespace magva {

struct RootPoint {
  Vector mean;
  Matrix root;  ///< Sigma = root root', upper triangular with a positive diagonal
};

/// The ELBO in these coordinates: u, t, and T above its diagonal, column by column. All are 0 at the start.
class RootObjective final : public RiemannianObjective {
 public:
  RootObjective(ExactElbo& elbo, RootPoint start, const ExactObserver& go_on)
      : elbo_(elbo), start_(std::move(start)), m_(start_.mean.size()), go_on_(go_on) {}

  Index dimension() const { return 2 * m_ + m_ * (m_ - 1) / 2; }
  RootPoint point(ConstVectorRef x) const;

  double evaluate(ConstVectorRef x, Vector& gradient) override;
  void project(ConstVectorRef, VectorRef) override {}
  Vector retract(ConstVectorRef x, ConstVectorRef step) override { return x + step; }
  bool go_on(double value) override { return go_on_(elbo_.passes(), value); }

 private:
  Matrix triangle(ConstVectorRef x) const;

  ExactElbo& elbo_;
  RootPoint start_;
  Index m_;
  const ExactObserver& go_on_;
};

struct RootAscent {
  RootPoint at;
  int iterations;
};

RootAscent ascend_by_roots(ExactElbo& elbo, RootPoint start, double tolerance, int most_iterations,
                           const ExactObserver& go_on);

}  // namespace magva
