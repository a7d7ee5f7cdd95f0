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
  void note_entry(Index i, Index hyper_parameter, Index entry);

  const ConditionalFit& fit_;
  /// The pattern, all pairs of hyper-parameters, and of these with members of sums.
  std::shared_ptr<const PrecisionStructure> structure_;
  /// Of a coordinate and a hyper-parameter, by its number; -1 where there is none.
  Eigen::Matrix<Index, Eigen::Dynamic, Eigen::Dynamic> entry_;
};

}  // namespace magva
