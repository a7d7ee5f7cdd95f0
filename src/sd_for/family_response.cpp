#include "sd_for/family_response.hpp"

#include <algorithm>
#include <cmath>

namespace magva {

namespace {

constexpr int kMostFamilyProducts = 400;
/// Of a solution, relative; variances err by its square.
constexpr double kFamilyResidual = 1e-7;
/// Along a rotation of the factors, which changes nothing, rounding may look like a negative curvature. A
/// solution with this residual, relative, is good enough then.
constexpr double kRoughResidual = 1e-4;
/// Of a difference, in posterior sds. Expectations are smooth, whatever their errors.
constexpr double kFamilyDifference = 1e-4;

/// A move in the coordinates mean, W and log d, or a derivative by these.
struct FamilyMove {
  Vector mean;
  Matrix factors;
  Vector log_residual;

  double dot(const FamilyMove& other) const {
    return mean.dot(other.mean) + factors.cwiseProduct(other.factors).sum() +
           log_residual.dot(other.log_residual);
  }
  void add(double share, const FamilyMove& other) {
    mean += share * other.mean;
    factors += share * other.factors;
    log_residual += share * other.log_residual;
  }
};

class FamilyHessian {
 public:
  FamilyHessian(ExactElbo& elbo, const Gaussian& q) : elbo_(elbo), q_(q) {}

  /// Minus the Hessian's product.
  FamilyMove operator*(const FamilyMove& x) const {
    const double h = kFamilyDifference / std::sqrt(squared_length(x));
    FamilyMove out = gradient(-h, x);
    out.add(-1, gradient(h, x));
    const double scale = 1 / (2 * h);
    return {scale * out.mean, scale * out.factors, scale * out.log_residual};
  }

  FamilyMove precondition(const FamilyMove& r) const {
    return {q_.times(r.mean), q_.times(r.factors), .5 * r.log_residual};
  }

 private:
  /// In the preconditioner's own metric: posterior sds.
  double squared_length(const FamilyMove& x) const {
    double out = x.mean.dot(q_.solve(x.mean).col(0)) + 2 * x.log_residual.squaredNorm();
    if (x.factors.cols() > 0) out += x.factors.cwiseProduct(q_.solve(x.factors)).sum();
    return out;
  }
  FamilyMove gradient(double h, const FamilyMove& x) const {
    const Vector residual = q_.residual_sd().array() * (h * x.log_residual.array()).exp();
    LowRankDerivatives by;
    elbo_.low_rank(q_.mean() + h * x.mean, q_.factors() + h * x.factors, residual, by);
    return {std::move(by.mean), std::move(by.factors), by.residual_sd.cwiseProduct(residual)};
  }

  ExactElbo& elbo_;
  const Gaussian& q_;
};

/// The same with the covariance held fixed: E[-Hessian], which is positive definite wherever log h is
/// concave.
class MeanHessian {
 public:
  explicit MeanHessian(const FamilyHessian& whole) : whole_(whole) {}

  FamilyMove operator*(const FamilyMove& x) const { return of_mean(whole_ * x); }
  FamilyMove precondition(const FamilyMove& r) const { return of_mean(whole_.precondition(r)); }

 private:
  static FamilyMove of_mean(FamilyMove move) {
    move.factors.setZero();
    move.log_residual.setZero();
    return move;
  }

  const FamilyHessian& whole_;
};

/// The move of the mean under a tilt, by conjugate gradients.
template <class Hessian>
std::optional<Vector> move_of_mean(const Hessian& hessian, const FamilyMove& tilt, double wanted,
                                   const ExactObserver& go_on) {
  FamilyMove x = tilt;
  x.mean.setZero();
  FamilyMove residual = tilt;
  FamilyMove direction = hessian.precondition(residual);
  double size = residual.dot(direction);
  const double first = size;
  const double enough = wanted * wanted * first;
  for (int k = 0; k < kMostFamilyProducts && size > enough; ++k) {
    if (!go_on(k, 0)) return std::nullopt;
    const FamilyMove image = hessian * direction;
    const double curvature = direction.dot(image);
    if (!(curvature > 0)) break;
    const double step = size / curvature;
    x.add(step, direction);
    residual.add(-step, image);
    FamilyMove next = hessian.precondition(residual);
    const double now = residual.dot(next);
    next.add(now / size, direction);
    direction = std::move(next);
    size = now;
  }
  const double rough = std::max(kRoughResidual, wanted);
  if (!(size <= rough * rough * first) || !(x.mean.dot(tilt.mean) > 0)) return std::nullopt;
  return x.mean;
}

}  // namespace

std::optional<Vector> response_to(ExactElbo& elbo, const Gaussian& q, const Vector& tilt, double residual,
                                  const ExactObserver& go_on) {
  const Index m = q.dimension();
  const FamilyHessian hessian(elbo, q);
  const FamilyMove move{tilt, Matrix::Zero(m, q.rank()), Vector::Zero(m)};
  if (auto found = move_of_mean(hessian, move, residual, go_on)) return found;
  return move_of_mean(MeanHessian(hessian), move, residual, go_on);
}

std::optional<Vector> response_column(ExactElbo& elbo, const Gaussian& q, Index i,
                                      const ExactObserver& go_on) {
  return response_to(elbo, q, Vector::Unit(q.dimension(), i), kFamilyResidual, go_on);
}

}  // namespace magva
