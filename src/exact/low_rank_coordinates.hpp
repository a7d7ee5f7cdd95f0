#pragma once
// Coordinates of low-rank Gaussians for an ascent without noise: a product of Euclidean blocks and a Stiefel
// manifold.
//
// mean = centre + R u, W = R B diag(exp(a)) with B'B = I, d^2 = c^2 (floor^2 + exp(2 e)). With the
// conditional sds c, and R R' the inverse of the curvature, all scales are about 1; factors scaled by c alone
// took three times as many iterations. Residual sds may tend to 0 on the way to a maximum (factor analysis
// knows this as a Heywood case): the floor keeps Sigma^-1 computable.
#include <memory>
#include <optional>

#include "core/tall_skinny.hpp"
#include "exact/elbo.hpp"

namespace magva {

struct LowRankPoint {
  Vector mean;
  Matrix factors;
  Vector residual_sd;
};

/// R, upper triangular, with R R' the inverse of a curvature.
Matrix inverse_root(const Matrix& curvature);

class LowRankCoordinates {
 public:
  /// `curvature`: dense and positive definite, or none, where R = diag(c).
  LowRankCoordinates(Vector centre, Vector conditional_sd, const std::optional<Matrix>& curvature, Index rank,
                     Workers& workers);
  /// `root`: R, or null, where R = diag(c).
  LowRankCoordinates(Vector centre, Vector conditional_sd, std::shared_ptr<const Matrix> root, Index rank,
                     Workers& workers);

  Index dimension() const { return 2 * m_ + m_ * p_ + p_; }
  Vector coordinates(const LowRankPoint& point) const;
  LowRankPoint point(ConstVectorRef x) const;
  /// The Riemannian gradient, from the derivatives by mean, W and d.
  Vector gradient(ConstVectorRef x, const LowRankPoint& point, const LowRankDerivatives& derivatives);

  /// Into the tangent space at x.
  void project(ConstVectorRef x, VectorRef v);
  Vector retract(ConstVectorRef x, ConstVectorRef step);

 private:
  Matrix times_root(ConstMatrixRef u) const;
  Matrix root_transposed_times(ConstMatrixRef g) const;
  Matrix solve_root(ConstMatrixRef v) const;

  Index m_;
  Index p_;
  Vector centre_;
  Vector scale_;                        // c
  std::shared_ptr<const Matrix> root_;  // R, upper triangular
  TallSkinny kernel_;
};

}  // namespace magva
