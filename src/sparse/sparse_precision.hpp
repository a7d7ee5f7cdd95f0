#pragma once
// A Gaussian whose precision has the Hessian's pattern. The best Gaussian of all has Sigma^-1 = E[-Hessian]
// (Opper and Archambeau 2009), so that nothing is lost by the pattern, and E[-Hessian] from a few Hessians
// has far less noise than from as many gradients.
#include "refine/covariance.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

/// Null where the matrix with these values is not positive definite.
std::unique_ptr<Covariance> make_sparse_precision(std::shared_ptr<const HessianPattern> pattern,
                                                  Vector values);
/// Of a precision with the pattern's structure; null where it is.
std::unique_ptr<Covariance> make_sparse_precision(std::shared_ptr<const HessianPattern> pattern,
                                                  std::shared_ptr<const FactoredPrecision> precision);

}  // namespace magva
