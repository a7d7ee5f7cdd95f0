#pragma once
// Linear response of a fit of low rank within its family, for single parameters, without any matrix of the
// size of the covariance: solves with the ELBO's Hessian by conjugate gradients.
//
// In the coordinates mean, factors W and d of N(mean, W W' + diag(d)^2), a tilt exp(t' theta) of the
// posterior moves the maximum of the ELBO by H^-1 (t, 0, 0), H minus the ELBO's Hessian there. Products with
// H are differences of exact gradients. Preconditioned by what H is for a posterior whose precision is
// Sigma^-1 in all directions: Sigma for the mean and for each factor, its own diagonal for d. Two things make
// H singular, or nearly so: a rotation of W changes nothing, so such moves are taken out; and the best d_i
// may be 0, where the ELBO has no maximum in log d_i but, being even in d_i, has one in d_i itself.
#include <optional>

#include "exact/newton.hpp"
#include "magva/posterior.hpp"

namespace magva {

/// The response's covariance times a tilt: how the fitted mean answers it. To a relative residual; with the
/// covariance of q held fixed where the ELBO is not concave at q. Nothing where it is not concave in the mean
/// either, or where go_on ends the search.
std::optional<Vector> response_to(ExactElbo& elbo, const Gaussian& q, const Vector& tilt, double residual,
                                  const ExactObserver& go_on);

/// Column i of the response's covariance: how the fitted mean answers a tilt of coordinate i. With the
/// covariance of q held fixed where the ELBO is not concave at q, as beside a maximum that a fit has not
/// quite reached.
std::optional<Vector> response_column(ExactElbo& elbo, const Gaussian& q, Index i,
                                      const ExactObserver& go_on);

}  // namespace magva
