#pragma once
// C = E[-Hessian] between passes that compute it. A low-rank covariance W W' + diag(d)^2 is at its best where
// Sigma^-1 W = C W and diag(Sigma^-1) = diag(C): of C it asks for p products and the diagonal alone, which a
// pass gives at a fraction of the cost of C itself. An older C that is corrected to have these has the same
// stationary points.
#include "magva/expectations.hpp"

namespace magva {

/// Of the symmetric matrices with these products and this diagonal, the one nearest to `older` but for the
/// scales of rows and columns, which the diagonal gives. It need not be positive definite.
Matrix corrected_curvature(const Matrix& older, const Matrix& factors, const CurvatureProducts& products);

}  // namespace magva
