#pragma once
// Hierarchical posteriors as mixtures of Gaussians: tried after the Gaussian, and kept where they are better.
#include "core/evaluator.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

/// Puts a mixture into a result whose Gaussian is in doubt for its shape, or has no sds by linear response,
/// or has not converged, if a few hyper-parameters explain that, and if the mixture is better: its ELBO is
/// not lower, it is not more in doubt, and for a fit that has not converged its importance weights confirm
/// it. `pattern`: of the Hessian; null where it is dense or not known.
void try_mixture(Evaluator& evaluator, const std::shared_ptr<const HessianPattern>& pattern,
                 const FitOptions& options, FitResult& result);

}  // namespace magva
