// The Fisher metric on low-rank-plus-diagonal covariances and its inverse, in O(m p^2) a product.
#include "low_rank_covariance.hpp"
#include "magva/auto/constants.hpp"

namespace magva {

// With dSigma = W E' + E W' + 2 diag(d^2 e) and K = Sigma^-1 dSigma Sigma^-1, the differential of <dSigma,
// dSigma>/2 is (K W, diag(K) d^2).
Tangent LowRankCovariance::metric(const Tangent& x) const {
  const Vector variance = residual_.cwiseAbs2();
  if (p() == 0) return {Matrix(m(), 0), 2 * x.scales};
  const Vector w = 2 * variance.cwiseProduct(x.scales);
  const Matrix pw = solve(factors_);
  const Matrix pe = solve(x.factors);
  Tangent out;
  out.factors =
      pw * (x.factors.transpose() * pw) + pe * (factors_.transpose() * pw) + solve(w.asDiagonal() * pw);
  // Sigma^-1 = diag(d^-2) - M b' with b = D^-1 a and M = b C^-1; diag(Sigma^-1 diag(w) Sigma^-1) row by row.
  const Matrix b = residual_.cwiseInverse().asDiagonal() * scaled_;
  const Matrix mm = capacitance_.solve(b.transpose()).transpose();
  const Matrix t = b.transpose() * (w.asDiagonal() * b);
  const Vector own = mm.cwiseProduct(b).rowwise().sum();
  Vector diagonal = w.cwiseQuotient(variance.cwiseAbs2()) - 2 * w.cwiseProduct(own).cwiseQuotient(variance) +
                    (mm * t).cwiseProduct(mm).rowwise().sum();
  diagonal += 2 * pw.cwiseProduct(pe).rowwise().sum();
  out.scales = diagonal.cwiseProduct(variance);
  return out;
}

// Conjugate gradients on metric(x) + damping = differential. Directions that only turn W within its span
// change nothing and have no differential: the damping keeps them, and factors that have all but vanished, in
// their place.
Tangent LowRankCovariance::natural(const Tangent& differential) const {
  if (p() == 0) return {differential.factors, .5 * differential.scales};
  const Matrix inverse_gram = Matrix(factors_.transpose() * solve(factors_) +
                                     constants::kPreconditionerDamping * Matrix::Identity(p(), p()))
                                  .llt()
                                  .solve(Matrix::Identity(p(), p()));
  const auto precondition = [&](const Tangent& r) {
    const Matrix sigma_r =
        factors_ * (factors_.transpose() * r.factors) + residual_.cwiseAbs2().asDiagonal() * r.factors;
    return Tangent{sigma_r * inverse_gram, .5 * r.scales};
  };
  const auto apply = [&](const Tangent& x) {
    Tangent out = metric(x);
    out.factors += constants::kMetricDamping * solve(x.factors);
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
    const double alpha = rz / inner(direction, image);
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
