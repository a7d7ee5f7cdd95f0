#pragma once
// Hyper-parameters and all others together, from the others' Gaussian given values of the hyper-parameters.
#include <memory>

#include "mixture/conditional.hpp"

namespace magva {

class JointPrecision {
 public:
  explicit JointPrecision(const ConditionalFit& fit);

  /// Of hyper-parameters with this covariance, and the others given them:
  /// [S^-1 + H_uv P^-1 H_vu, H_uv; H_vu, P]. Null where it is not positive definite.
  std::shared_ptr<const FactoredPrecision> make(const ConditionalGaussian& given,
                                                const Matrix& covariance) const;

 private:
  void set_pair(Index a, Index b, Index entry) { pair_entry_(a, b) = pair_entry_(b, a) = entry; }
  /// H_uv P^-1 H_vu.
  Matrix explained(const ConditionalGaussian& given) const;

  const ConditionalFit& fit_;
  std::shared_ptr<const PrecisionStructure> structure_;  // the pattern, and all pairs of hyper-parameters
  Eigen::Matrix<Index, Eigen::Dynamic, Eigen::Dynamic> pair_entry_;
};

}  // namespace magva
