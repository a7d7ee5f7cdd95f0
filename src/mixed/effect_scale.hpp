#pragma once
// The covariance of the effects of one group: Lambda Lambda' with Lambda = diag(sds) L, L the Cholesky factor
// of their correlations; its unconstrained coordinates, their prior and derivatives.
#include <string>
#include <vector>

#include "magva/mixed.hpp"
#include "magva/positive_prior.hpp"

namespace magva::mixed {

/// Coordinates: the logarithms of the sds, then, row by row of L, inverse hyperbolic tangents of the partial
/// correlations of effects i and j < i given those before j (Lewandowski, Kurowicka & Joe 2009). Every point
/// is a valid covariance, sds may come arbitrarily near to zero.
class EffectScale {
 public:
  /// Throws UsageError if a scale or the shape of the LKJ prior is not positive.
  EffectScale(const GroupTerm& term, ConstVectorRef sd_scale, double lkj);

  Index effects() const { return effects_; }
  Index coordinates() const { return effects_ + correlations_; }
  Index correlations() const { return correlations_; }

  /// Lambda at the coordinates.
  Matrix lambda(const double* at) const;
  /// The log prior density of the coordinates, whose derivatives are added to `gradient`.
  double log_prior(const double* at, double* gradient) const;
  /// Adds the derivatives of a function of Lambda that changes by tr(M Lambda^-1 dLambda), M symmetric. For
  /// the log density of effects Lambda v, v ~ N(0, I), M is E[v v'] - I given the data, summed over groups
  /// (Fisher's identity).
  void add_gradient(const double* at, const Matrix& m, double* gradient) const;
  /// Sds, then correlations of effects i and j < i, row by row.
  void quantities(const double* at, double* out) const;

  std::vector<std::string> coordinate_names() const;
  std::vector<std::string> quantity_names() const;

 private:
  Matrix correlation_factor(const double* at) const;

  std::string group_;
  std::vector<std::string> names_;
  Index effects_;
  Index correlations_;
  std::vector<PositivePrior> sd_prior_;
  Vector beta_shape_;     // of the partial correlations' symmetric beta distributions, by column j
  Vector beta_constant_;  // of their log densities
};

}  // namespace magva::mixed
