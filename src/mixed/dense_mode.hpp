#pragma once
// The mode of a posterior of few dimensions and the curvature there, by few gradients: each may take as long
// as a Cholesky factor of all group effects.
#include "core/evaluator.hpp"
#include "magva/posterior.hpp"

namespace magva::mixed {

struct DenseMode {
  Vector theta;
  Matrix precision;  ///< minus the second derivatives, as they are half an sd around; positive definite
  int iterations = 0;
  bool converged = false;
  Gaussian gaussian() const;
};

/// From `start`. `unit`: by how much each parameter may well change, such as its prior's scale. Throws
/// DataError if the log density is not finite at the start, Stopped if the evaluator's control says so.
DenseMode find_dense_mode(Evaluator& evaluator, ConstVectorRef start, ConstVectorRef unit);

}  // namespace magva::mixed
