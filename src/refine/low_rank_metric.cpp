// The Fisher metric on low-rank-plus-diagonal covariances and its inverse, in O(m p^2) a product.
#include <Eigen/Cholesky>
#include <cmath>

#include "fit/constants.hpp"
#include "refine/low_rank_covariance.hpp"

namespace magva {

// With dSigma = W E' + E W' + 2 diag(d^2 e) and K = Sigma^-1 dSigma Sigma^-1, the differential of <dSigma,
// dSigma>/2 is (K W, diag(K) d^2).
Tangent LowRankCovariance::metric(const Tangent& x) const {
  const Vector variance = residual_sd().cwiseAbs2();
  if (p() == 0) return {Matrix(m(), 0), 2 * x.scales};
  const Vector w = 2 * variance.cwiseProduct(x.scales);
  const Matrix pw = solve(factors_);
  const Matrix pe = solve(x.factors);
  Tangent out;
  out.factors =
      pw * (x.factors.transpose() * pw) + pe * (factors_.transpose() * pw) + solve(w.asDiagonal() * pw);
  // Sigma^-1 = diag(d^-2) - M b' with b = D^-2 W and M = b K; diag(Sigma^-1 diag(w) Sigma^-1) row by row.
  const Matrix b = variance.cwiseInverse().asDiagonal() * factors_;
  const Matrix mm = b * sigma_.capacitance().inverse();
  const Matrix t = b.transpose() * (w.asDiagonal() * b);
  const Vector own = mm.cwiseProduct(b).rowwise().sum();
  Vector diagonal = w.cwiseQuotient(variance.cwiseAbs2()) - 2 * w.cwiseProduct(own).cwiseQuotient(variance) +
                    (mm * t).cwiseProduct(mm).rowwise().sum();
  diagonal += 2 * pw.cwiseProduct(pe).rowwise().sum();
  out.scales = diagonal.cwiseProduct(variance);
  return out;
}

double LowRankCovariance::largest_change(const Tangent& x) const {
  const Vector w = 2 * residual_sd().cwiseAbs2().cwiseProduct(x.scales);
  // The starting vector meets every direction: a sum of the factors and of the scales.
  Vector v = residual_sd().cwiseInverse();
  if (p() > 0) v += solve(factors_.rowwise().sum());
  double size = 0;
  for (int k = 0; k < constants::kPowerIterations; ++k) {
    const Vector sigma_v = factors_ * (factors_.transpose() * v) + residual_sd().cwiseAbs2().cwiseProduct(v);
    v /= std::sqrt(std::max(v.dot(sigma_v), 1e-300));
    Vector image = w.cwiseProduct(v);
    if (p() > 0) image += factors_ * (x.factors.transpose() * v) + x.factors * (factors_.transpose() * v);
    v = solve(image);
    size = std::sqrt(std::max(0., v.dot(image)));
  }
  return size;
}

// Conjugate gradients on metric(x) + A x + damping = differential. The ELBO's own curvature along W is
// metric + A - Sigma^-1: where a few factors leave out much of the posterior's correlation A can exceed
// Sigma^-1 many times, and a step in the Fisher metric alone would overshoot there. Directions that only turn
// W within its span change nothing and have no differential: the damping keeps them, and vanishing factors,
// in their place.
Tangent LowRankCovariance::natural(const Tangent& differential) const {
  if (p() == 0) return {differential.factors, .5 * differential.scales};
  const Matrix inverse_gram = Matrix(factors_.transpose() * solve(factors_) +
                                     constants::kPreconditionerDamping * Matrix::Identity(p(), p()))
                                  .llt()
                                  .solve(Matrix::Identity(p(), p()));
  const auto precondition = [&](const Tangent& r) {
    const Matrix sigma_r =
        factors_ * (factors_.transpose() * r.factors) + residual_sd().cwiseAbs2().asDiagonal() * r.factors;
    return Tangent{sigma_r * inverse_gram, .5 * r.scales};
  };
  const auto apply = [&](const Tangent& x) {
    Tangent out = metric(x);
    const double damping = constants::kMetricDamping + (controlled_ && !sketch_ ? control_noise() : 0);
    out.factors += damping * solve(x.factors);
    if (sketch_)
      out.factors += sketch_->bound_times(x.factors);
    else if (controlled_)
      out.factors += control_times(x.factors);
    out.scales += 2 * constants::kMetricDamping * x.scales;
    return out;
  };
  Tangent x{Matrix::Zero(m(), p()), Vector::Zero(m())};
  Tangent r = differential;
  Tangent z = precondition(r);
  Tangent direction = z;
  double rz = inner(r, z);
  const double enough = constants::kSolveTolerance * rz;
  for (int k = 0; k < constants::kSolveIterations && rz > enough; ++k) {
    const Tangent image = apply(direction);
    const double curvature = inner(direction, image);
    if (!(curvature > 0)) break;
    const double alpha = rz / curvature;
    x = combine(1, x, alpha, direction);
    r = combine(1, r, -alpha, image);
    z = precondition(r);
    const double next = inner(r, z);
    direction = combine(1, z, next / rz, direction);
    rz = next;
  }
  return x;
}

}  // namespace magva
