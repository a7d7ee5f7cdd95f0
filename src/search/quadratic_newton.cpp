#include "search/quadratic_newton.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace magva {

namespace {

constexpr int kMostProfileSteps = 60;
constexpr double kNegligibleGain = 1e-14;  // nats of a step that is not worth taking
/// How far the last step may turn the factors for its square to be neglected: 1e-5 to rounding.
constexpr double kTurnPerGain = 1e3;
constexpr double kLongestProfileStep = 1;  // of a log residual sd
/// What is added to the Hessian's diagonal where it is not negative definite or a step has failed, at first.
constexpr double kFirstRidge = 1e-3;
constexpr double kSmallestRidge = 1e-12;
constexpr double kLargestRidge = 1e9;
constexpr double kSmallestGap = 1e-12;  // between eigenvalues of factors and others

/// The coordinates that a step may move: those not held at the bound.
std::vector<Index> free_coordinates(const Vector& x, const Vector& gradient, double bound) {
  std::vector<Index> out;
  for (Index j = 0; j < x.size(); ++j)
    if (x(j) > bound || gradient(j) > 0) out.push_back(j);
  return out;
}

struct ProfileStep {
  Vector step;
  double gain;
};

/// A Newton step in the free coordinates; the ridge becomes large enough for it to rise.
ProfileStep step_of_profile(const ResidualProfile& at, double bound, double& ridge) {
  const Vector gradient = at.gradient();
  const std::vector<Index> free = free_coordinates(at.x(), gradient, bound);
  ProfileStep out{Vector::Zero(gradient.size()), 0};
  if (free.empty()) return out;
  const Matrix hessian = at.negative_hessian()(free, free);
  const Vector slope = gradient(free);
  const Matrix identity = Matrix::Identity(hessian.rows(), hessian.rows());
  Eigen::LLT<Matrix> llt(hessian + ridge * identity);
  while (llt.info() != Eigen::Success && ridge < kLargestRidge) {
    ridge = std::max(kFirstRidge, 4 * ridge);
    llt.compute(hessian + ridge * identity);
  }
  const Vector step = llt.solve(slope);
  out.gain = .5 * step.dot(slope);
  out.step(free) = step * std::min(1., kLongestProfileStep / step.cwiseAbs().maxCoeff());
  return out;
}

QuadraticFit fit_of(const QuadraticFitter& fitter, const Matrix& unit_factors, const Vector& x) {
  const Vector& sd = fitter.conditional_sd();
  QuadraticFit out{sd.asDiagonal() * unit_factors, sd.array() * x.array().exp(), 0};
  out.value = fitter.value(out.factors, out.residual_sd);
  return out;
}

}  // namespace

ResidualProfile::ResidualProfile(const Matrix& unit_precision, Index rank, Vector x)
    : unit_precision_(&unit_precision), rank_(rank), x_(std::move(x)) {
  const Vector scale = x_.array().exp();
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(scale.asDiagonal() * unit_precision *
                                                     scale.asDiagonal());
  eigenvalues_ = solver.eigenvalues();
  eigenvectors_ = solver.eigenvectors();
  count_ = std::lower_bound(eigenvalues_.begin(), eigenvalues_.begin() + rank_, 1.) - eigenvalues_.begin();
  const auto of_factors = eigenvalues_.head(count_).array();
  value_ = x_.sum() - .5 * scale.squaredNorm() - .5 * (1 - of_factors + of_factors.log()).sum();
}

// Eigenvalues are known to so many parts of the largest.
double ResidualProfile::rounding() const {
  return 4 * std::numeric_limits<double>::epsilon() *
         (x_.cwiseAbs().sum() + static_cast<double>(x_.size()) * eigenvalues_.maxCoeff() / eigenvalues_(0));
}

Vector ResidualProfile::gradient() const {
  Vector out = 1 - (2 * x_).array().exp();
  for (Index i = 0; i < count_; ++i) out += (eigenvalues_(i) - 1) * eigenvectors_.col(i).cwiseAbs2();
  return out;
}

// d lambda_i / d x_k = 2 lambda_i u_ik^2, and
// d u_i / d x_k = sum over l of u_l (lambda_i + lambda_l) u_lk u_ik / (lambda_i - lambda_l). Where both are
// factors the poles cancel.
Matrix ResidualProfile::negative_hessian() const {
  const Index m = x_.size();
  const auto others = eigenvalues_.tail(m - count_).array();
  Matrix out = Matrix::Zero(m, m);
  for (Index i = 0; i < count_; ++i) {
    const double lambda = eigenvalues_(i);
    const Vector weight = (2 * (1 - lambda) * (lambda + others) / (others - lambda).max(kSmallestGap)).sqrt();
    const Matrix image =
        eigenvectors_.col(i).asDiagonal() * eigenvectors_.rightCols(m - count_) * weight.asDiagonal();
    out.selfadjointView<Eigen::Lower>().rankUpdate(image, -1);
    for (Index l = 0; l <= i; ++l) {
      const double pair = l == i ? 2 * lambda : 2 * (lambda + eigenvalues_(l));
      out.selfadjointView<Eigen::Lower>().rankUpdate(eigenvectors_.col(i).cwiseProduct(eigenvectors_.col(l)),
                                                     -pair);
    }
  }
  out.diagonal() += 2 * (2 * x_).array().exp().matrix();
  return out.selfadjointView<Eigen::Lower>();
}

Matrix ResidualProfile::factors_of(const Vector& x, const Vector& eigenvalues,
                                   const Matrix& eigenvectors) const {
  Matrix out = Matrix::Zero(x.size(), rank_);
  const auto lengths = (eigenvalues.cwiseInverse().array() - 1).sqrt().matrix();
  out.leftCols(eigenvalues.size()) =
      x.array().exp().matrix().asDiagonal() * eigenvectors * lengths.asDiagonal();
  return out;
}

Matrix ResidualProfile::factors() const {
  return factors_of(x_, eigenvalues_.head(count_), eigenvectors_.leftCols(count_));
}

// The factors' eigenvectors to first order, by the derivatives above, and the best in their span
// (Rayleigh-Ritz), whose error is of second order.
std::optional<Matrix> ResidualProfile::factors_after(const Vector& step, double longest_turn) const {
  const Index others = x_.size() - count_;
  Matrix turned =
      eigenvectors_.rightCols(others).transpose() * step.asDiagonal() * eigenvectors_.leftCols(count_);
  for (Index i = 0; i < count_; ++i) {
    const auto rest = eigenvalues_.tail(others).array();
    turned.col(i).array() *= (eigenvalues_(i) + rest) / (eigenvalues_(i) - rest).min(-kSmallestGap);
  }
  if (!(turned.norm() < longest_turn)) return std::nullopt;
  const Vector x = x_ + step;
  Matrix span = eigenvectors_.leftCols(count_) + eigenvectors_.rightCols(others) * turned;
  span = span * Eigen::LLT<Matrix>(span.transpose() * span).matrixU().solve(Matrix::Identity(count_, count_));
  const Matrix scaled = x.array().exp().matrix().asDiagonal() * span;
  const Eigen::SelfAdjointEigenSolver<Matrix> ritz(scaled.transpose() * (*unit_precision_ * scaled));
  if (!(ritz.eigenvalues().array() < 1).all()) return std::nullopt;
  return factors_of(x, ritz.eigenvalues(), span * ritz.eigenvectors());
}

QuadraticFit newton_quadratic_fit(const QuadraticFitter& fitter, ConstVectorRef residual_sd, Index rank,
                                  double last_gain) {
  if (rank == 0) return fitter.fit(0);
  const Vector& sd = fitter.conditional_sd();
  const Matrix unit = sd.asDiagonal() * fitter.precision() * sd.asDiagonal();
  const double bound = std::log(kResidualFloor);
  ResidualProfile at(unit, rank, residual_sd.cwiseQuotient(sd).array().log().max(bound));
  double ridge = 0;
  for (int k = 0; k < kMostProfileSteps && ridge < kLargestRidge; ++k) {
    const ProfileStep step = step_of_profile(at, bound, ridge);
    if (!(step.gain > kNegligibleGain)) break;
    if (ridge == 0 && step.gain < last_gain) {
      const Vector last = (at.x() + step.step).cwiseMax(bound);
      if (const auto factors = at.factors_after(last - at.x(), kTurnPerGain * last_gain))
        return fit_of(fitter, *factors, last);
    }
    ResidualProfile next(unit, rank, (at.x() + step.step).cwiseMax(bound));
    if (next.value() >= at.value() - at.rounding()) {
      at = std::move(next);
      if (ridge == 0 && step.gain < last_gain) break;
      ridge = ridge < kSmallestRidge ? 0 : .1 * ridge;
    } else {
      ridge = std::max(kFirstRidge, 4 * ridge);
    }
  }
  return fit_of(fitter, at.factors(), at.x());
}

}  // namespace magva
