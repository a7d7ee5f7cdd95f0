#pragma once
// Columns of the inverse of E[-Hessian] under a Gaussian, for single parameters of models with many: linear
// response with the covariance held fixed. By conjugate gradients, with products from differences of
// gradients on common draws; preconditioned by the Gaussian's covariance.
#include <cstdint>
#include <optional>
#include <vector>

#include "core/evaluator.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// E[-Hessian] under a Gaussian, as products from differences of gradients on common draws.
class MeanCurvature {
 public:
  MeanCurvature(Evaluator& evaluator, const Gaussian& q, Index pairs, std::uint64_t seed);

  /// -Hessian at each draw, times v.
  Matrix products(const Vector& v) const;
  Vector operator*(const Vector& v) const { return products(v).rowwise().mean(); }
  /// Times columns whose lengths are 1 in the inner product of q's precision.
  Matrix times_unit_columns(const Matrix& v) const;
  /// Gradients that a column takes.
  std::int64_t cost() const { return 2 * draws_.cols(); }
  /// Its inverse times a tilt, by conjugate gradients to a relative residual. Nothing where it is not
  /// positive definite.
  std::optional<Vector> solve(const Vector& tilt, double residual) const;

 private:
  Matrix gradients(const Matrix& theta) const;

  Evaluator& evaluator_;
  const Gaussian& q_;
  Matrix draws_;
};

struct SampledColumns {
  std::vector<Index> coordinates;  ///< those that were found
  Matrix columns;
  Vector se;  ///< of the logarithm of each sd, from the spread of the draws
};

/// Nothing for a coordinate where the mean of the Hessians is not negative definite.
SampledColumns sample_columns(Evaluator& evaluator, const Gaussian& q, const std::vector<Index>& coordinates,
                              std::uint64_t seed);

}  // namespace magva
