#include "sd_for/family_response.hpp"

#include <Eigen/Eigenvalues>

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
constexpr double kLeastResidual = 2e-4;
/// Of a difference, in posterior sds. Expectations are smooth, whatever their errors.
constexpr double kFamilyDifference = 1e-4;

/// A move in the coordinates mean, W and d, or a derivative by these.
struct FamilyMove {
  Vector mean;
  Matrix factors;
  Vector residual_sd;

  double dot(const FamilyMove& other) const {
    return mean.dot(other.mean) + factors.cwiseProduct(other.factors).sum() +
           residual_sd.dot(other.residual_sd);
  }
  void add(double share, const FamilyMove& other) {
    mean += share * other.mean;
    factors += share * other.factors;
    residual_sd += share * other.residual_sd;
  }
};

/// Residual sds that belong at 0, as in a Heywood case of factor analysis, are kept this share of an sd away
/// from it: the response changes by the square.
Gaussian inside_family(const Gaussian& q) {
  Vector residual = q.residual_sd().cwiseMax(kLeastResidual * q.sd());
  return Gaussian::low_rank(q.mean(), q.factors(), std::move(residual));
}

/// Moves W A with A' = -A: they rotate the factors and leave the covariance as it is, so that no derivative
/// has a part along them. W with W' diag(d)^-2 W = diag(lengths) makes them orthogonal in Sigma^-1.
class FactorRotations {
 public:
  explicit FactorRotations(const Gaussian& q) {
    if (q.rank() < 2) return;  // there are none
    const Matrix white = q.residual_sd().cwiseInverse().asDiagonal() * q.factors();
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(white.transpose() * white);
    const Vector lengths = eigen.eigenvalues();
    factors_ = q.factors() * eigen.eigenvectors();
    own_ = lengths.array() / (1 + lengths.array());
    const Vector shares = (1 + lengths.array()).inverse();
    images_ = q.residual_sd().cwiseAbs2().cwiseInverse().asDiagonal() * factors_ * shares.asDiagonal();
    turn_ = eigen.eigenvectors();
  }

  /// Takes what rounding has left along them out of a derivative by W.
  void remove(Matrix& derivative) const {
    if (factors_.cols() < 2) return;
    const Matrix turned = derivative * turn_;
    const Matrix along = factors_.transpose() * turned;
    Matrix rotation = along - along.transpose();
    for (Index k = 0; k < rotation.rows(); ++k)
      for (Index l = 0; l < rotation.cols(); ++l) rotation(k, l) /= own_(k) + own_(l);
    derivative -= images_ * rotation * turn_.transpose();
  }

 private:
  Matrix turn_;
  Matrix factors_;  ///< W, turned
  Matrix images_;   ///< Sigma^-1 W
  Vector own_;      ///< the diagonal of W' Sigma^-1 W
};

class FamilyHessian {
 public:
  FamilyHessian(ExactElbo& elbo, const Gaussian& q)
      : elbo_(elbo), q_(inside_family(q)), rotations_(q_), residual_curvature_(residual_curvature()) {}

  /// Minus the Hessian's product.
  FamilyMove operator*(const FamilyMove& x) const {
    const double h = kFamilyDifference / std::sqrt(squared_length(x));
    FamilyMove out = gradient(-h, x);
    out.add(-1, gradient(h, x));
    rotations_.remove(out.factors);
    const double scale = 1 / (2 * h);
    return {scale * out.mean, scale * out.factors, scale * out.residual_sd};
  }

  FamilyMove precondition(const FamilyMove& r) const {
    return {q_.times(r.mean), q_.times(r.factors), r.residual_sd.cwiseQuotient(residual_curvature_)};
  }

 private:
  /// In the preconditioner's own metric: posterior sds.
  double squared_length(const FamilyMove& x) const {
    double out = x.mean.dot(q_.solve(x.mean).col(0)) + x.residual_sd.cwiseAbs2().dot(residual_curvature_);
    if (x.factors.cols() > 0) out += x.factors.cwiseProduct(q_.solve(x.factors)).sum();
    return out;
  }
  FamilyMove gradient(double h, const FamilyMove& x) const {
    LowRankDerivatives by;
    elbo_.low_rank(q_.mean() + h * x.mean, q_.factors() + h * x.factors, q_.residual_sd() + h * x.residual_sd,
                   by);
    return {std::move(by.mean), std::move(by.factors), std::move(by.residual_sd)};
  }
  /// H's own diagonal where C varies with neither: 2 d^2 s^2 + c - s, s and c the diagonals of Sigma^-1 and
  /// C. In the interior c = s at a maximum; where d belongs at 0, c > s.
  Vector residual_curvature() const {
    LowRankDerivatives by;
    elbo_.low_rank(q_.mean(), q_.factors(), q_.residual_sd(), by);
    const Vector excess = -by.residual_sd.cwiseQuotient(q_.residual_sd());
    const Vector share = q_.residual_sd().cwiseProduct(q_.precision_diagonal());
    return 2 * share.cwiseAbs2() + excess.cwiseMax(0);
  }

  ExactElbo& elbo_;
  Gaussian q_;
  FactorRotations rotations_;
  Vector residual_curvature_;
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
    move.residual_sd.setZero();
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
