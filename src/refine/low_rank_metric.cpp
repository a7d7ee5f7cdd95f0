// The Fisher metric on low-rank-plus-diagonal covariances and its inverse, in O(m p^2) a product.
#include <Eigen/Cholesky>
#include <cmath>

#include "refine/expected_curvature.hpp"
#include "refine/low_rank_covariance.hpp"

namespace magva {

namespace {
/// Damping of the Fisher metric, relative to it, and of its preconditioner.
constexpr double kMetricDamping = 1e-3;
constexpr double kPreconditionerDamping = 1e-2;
/// Conjugate gradients end after so many iterations, or with this share of the squared residual left.
constexpr int kSolveIterations = 15;
constexpr double kSolveTolerance = 1e-4;
/// Iterations that estimate the largest relative change of a variance.
constexpr int kPowerIterations = 12;

void add(CovarianceTangent& to, double share, const CovarianceTangent& x) {
  to.factors += share * x.factors;
  to.scales += share * x.scales;
}
}  // namespace

// With dSigma = W E' + E W' + 2 diag(d^2 e) and K = Sigma^-1 dSigma Sigma^-1, the differential of <dSigma,
// dSigma>/2 is (K W, diag(K) d^2).
CovarianceTangent LowRankCovariance::metric(const CovarianceTangent& x) const {
  const Vector variance = residual_sd().cwiseAbs2();
  if (p() == 0) return {Matrix(m(), 0), 2 * x.scales};
  const Vector w = 2 * variance.cwiseProduct(x.scales);
  const Matrix pw = solve(factors());
  const Matrix pe = solve(x.factors);
  CovarianceTangent out;
  out.factors =
      pw * (x.factors.transpose() * pw) + pe * (factors().transpose() * pw) + solve(w.asDiagonal() * pw);
  // Sigma^-1 = diag(d^-2) - M b' with b = D^-2 W and M = b K; diag(Sigma^-1 diag(w) Sigma^-1) row by row.
  const Matrix b = variance.cwiseInverse().asDiagonal() * factors();
  const Matrix mm = b * sigma_.capacitance().inverse();
  const Matrix t = b.transpose() * (w.asDiagonal() * b);
  const Vector own = mm.cwiseProduct(b).rowwise().sum();
  Vector diagonal = w.cwiseQuotient(variance.cwiseAbs2()) - 2 * w.cwiseProduct(own).cwiseQuotient(variance) +
                    (mm * t).cwiseProduct(mm).rowwise().sum();
  diagonal += 2 * pw.cwiseProduct(pe).rowwise().sum();
  out.scales = diagonal.cwiseProduct(variance);
  return out;
}

double LowRankCovariance::largest_change(const CovarianceTangent& x) const {
  const Vector w = 2 * residual_sd().cwiseAbs2().cwiseProduct(x.scales);
  // The starting vector meets every direction: a sum of the factors and of the scales.
  Vector v = residual_sd().cwiseInverse();
  if (p() > 0) v += solve(factors().rowwise().sum());
  double size = 0;
  for (int k = 0; k < kPowerIterations; ++k) {
    const Vector sigma_v =
        factors() * (factors().transpose() * v) + residual_sd().cwiseAbs2().cwiseProduct(v);
    v /= std::sqrt(std::max(v.dot(sigma_v), 1e-300));
    Vector image = w.cwiseProduct(v);
    if (p() > 0) image += factors() * (x.factors.transpose() * v) + x.factors * (factors().transpose() * v);
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
CovarianceTangent LowRankCovariance::natural_gradient(const CovarianceTangent& differential,
                                                      const ExpectedCurvature* curvature) const {
  if (p() == 0) return {differential.factors, .5 * differential.scales};
  const Matrix inverse_gram =
      Matrix(factors().transpose() * solve(factors()) + kPreconditionerDamping * Matrix::Identity(p(), p()))
          .llt()
          .solve(Matrix::Identity(p(), p()));
  const auto precondition = [&](const CovarianceTangent& r) {
    const Matrix sigma_r =
        factors() * (factors().transpose() * r.factors) + residual_sd().cwiseAbs2().asDiagonal() * r.factors;
    return CovarianceTangent{sigma_r * inverse_gram, .5 * r.scales};
  };
  const auto apply = [&](const CovarianceTangent& x) {
    CovarianceTangent out = metric(x);
    out.factors += kMetricDamping * solve(x.factors);
    if (curvature != nullptr) curvature->add_bound_times(x.factors, *this, out.factors);
    out.scales += 2 * kMetricDamping * x.scales;
    return out;
  };
  CovarianceTangent x{Matrix::Zero(m(), p()), Vector::Zero(m())};
  CovarianceTangent r = differential;
  CovarianceTangent z = precondition(r);
  CovarianceTangent direction = z;
  double rz = inner(r, z);
  const double enough = kSolveTolerance * rz;
  for (int k = 0; k < kSolveIterations && rz > enough; ++k) {
    const CovarianceTangent image = apply(direction);
    const double curvature_along = inner(direction, image);
    if (!(curvature_along > 0)) break;
    const double alpha = rz / curvature_along;
    add(x, alpha, direction);
    add(r, -alpha, image);
    z = precondition(r);
    const double next = inner(r, z);
    direction = combine(1, z, next / rz, direction);
    rz = next;
  }
  return x;
}

}  // namespace magva
