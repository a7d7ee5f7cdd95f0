#include "search/quadratic_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <algorithm>
#include <cmath>

#include "core/low_rank_plus_diagonal.hpp"
#include "core/noise.hpp"
#include "magva/error.hpp"
#include "search/mode_search.hpp"

namespace magva {

namespace {

/// Columns beyond the rank, and iterations, of the subspace iteration that finds a start.
constexpr Index kSubspaceExtra = 8;
constexpr int kSubspaceIterations = 6;
/// L-BFGS runs, and what each goes by: more pairs save no iterations here.
constexpr int kQuadraticRestarts = 20;
constexpr SearchLimits kQuadraticLimits{
    .iterations = 1000, .tolerance = kQuadraticTolerance, .window = 8, .pairs = 8};
/// Random starts of the search for the highest local maximum: so many, or where m is large so many as m^2 p
/// times their number reaches kStartEffort; and half as many disturbances of the best.
constexpr Index kMostStarts = 24;
constexpr double kStartEffort = 1e7;

Matrix orthonormal(const Matrix& a) {
  return a.householderQr().householderQ() * Matrix::Identity(a.rows(), a.cols());
}

Matrix random_factors(Index m, Index columns, Index number) {
  Matrix out(m, columns);
  Noise(static_cast<std::uint64_t>(number), NoiseStream::kFactors).fill(0, 0, out);
  return out;
}

}  // namespace

QuadraticFitter::QuadraticFitter(ConstMatrixRef precision, Control* control)
    : precision_(precision),
      conditional_sd_(precision.diagonal().cwiseSqrt().cwiseInverse()),
      control_(control) {
  const Eigen::LLT<Matrix> llt(precision_);
  if (llt.info() != Eigen::Success) throw DataError("the curvature is not positive definite");
  cholesky_ = llt.matrixL();
  inverse_root_ = InverseRoot(cholesky_);
}

double QuadraticFitter::full_rank_value() const {
  return -.5 * static_cast<double>(precision_.rows()) - cholesky_.diagonal().array().log().sum();
}

Vector QuadraticFitter::full_rank_sd() const {
  const Index m = precision_.rows();
  const Matrix inverse = cholesky_.triangularView<Eigen::Lower>().solve(Matrix::Identity(m, m));
  return inverse.colwise().norm().transpose();
}

QuadraticFit QuadraticFitter::mean_field() const {
  const Index m = precision_.rows();
  return {Matrix(m, 0), conditional_sd_, -.5 * static_cast<double>(m) + conditional_sd_.array().log().sum()};
}

Matrix QuadraticFitter::eigenvectors(ConstVectorRef residual_sd, Index rank) const {
  const Index m = precision_.rows();
  Matrix directions = orthonormal(random_factors(m, std::min(m, rank + kSubspaceExtra), 0));
  for (int k = 0; k < kSubspaceIterations; ++k) {
    Matrix image = residual_sd.cwiseInverse().asDiagonal() * directions;
    cholesky_.triangularView<Eigen::Lower>().solveInPlace(image);
    cholesky_.triangularView<Eigen::Lower>().transpose().solveInPlace(image);
    directions = orthonormal(residual_sd.cwiseInverse().asDiagonal() * image);
    if (control_ != nullptr) control_->poll();
  }
  const Matrix scaled = residual_sd.asDiagonal() * directions;
  const Eigen::SelfAdjointEigenSolver<Matrix> ritz(scaled.transpose() * (precision_ * scaled));
  const Vector values = ritz.eigenvalues().head(rank).cwiseMin(kWeakestFactor);
  return scaled * ritz.eigenvectors().leftCols(rank) *
         (values.cwiseInverse().array() - 1).sqrt().matrix().asDiagonal();
}

Vector QuadraticFitter::solve(ConstVectorRef v) const {
  const auto lower = cholesky_.triangularView<Eigen::Lower>();
  return lower.transpose().solve(lower.solve(v));
}

double QuadraticFitter::value(ConstMatrixRef factors, ConstVectorRef residual_sd) const {
  const LowRankPlusDiagonal sigma(factors, residual_sd);
  const Matrix image = cholesky_.triangularView<Eigen::Lower>().transpose() * factors;
  return -.5 * (image.squaredNorm() + residual_sd.cwiseQuotient(conditional_sd_).squaredNorm()) +
         .5 * sigma.log_determinant();
}

QuadraticFit QuadraticFitter::ascend(ConstMatrixRef factors, ConstVectorRef residual_sd, int runs,
                                     double tolerance) const {
  if (factors.cols() == 0) return mean_field();
  QuadraticObjective objective(cholesky_, inverse_root_, conditional_sd_, factors.cols());
  const ObjectiveFunction evaluate = [&](ConstVectorRef at, VectorRef gradient) {
    if (control_ != nullptr) control_->poll();
    return objective(at, gradient);
  };
  Vector at = objective.coordinates(factors, residual_sd);
  double value = 0;
  for (int k = 0; k < runs; ++k) {
    const ModeSearch search = maximize(evaluate, at, kQuadraticLimits);
    at = search.end.theta;
    value = search.end.log_density;
    if (value - search.path.front().log_density < tolerance) break;
  }
  return {objective.factors(at), objective.residual_sd(at), value};
}

QuadraticFit QuadraticFitter::maximize_from(ConstMatrixRef factors, ConstVectorRef residual_sd,
                                            double tolerance) const {
  return ascend(factors, residual_sd, kQuadraticRestarts, tolerance);
}

QuadraticFit QuadraticFitter::approach_from(ConstMatrixRef factors, ConstVectorRef residual_sd) const {
  return ascend(factors, residual_sd, 1, kQuadraticTolerance);
}

QuadraticFit QuadraticFitter::fit(Index rank) const {
  if (rank == 0) return mean_field();
  return maximize_from(eigenvectors(conditional_sd_, rank), conditional_sd_);
}

QuadraticFit QuadraticFitter::best(Index rank) const {
  if (rank == 0) return mean_field();
  const auto m = static_cast<double>(precision_.rows());
  const auto starts = static_cast<Index>(
      std::clamp(kStartEffort / (m * m * static_cast<double>(rank)), 1., static_cast<double>(kMostStarts)));
  QuadraticFit best = fit(rank);
  try {
    improve(best, rank, starts);
  } catch (const Stopped&) {  // the best so far
  }
  return best;
}

void QuadraticFitter::improve(QuadraticFit& best, Index rank, Index starts) const {
  const Index m = precision_.rows();
  const auto try_from = [&](const Matrix& factors, const Vector& residual_sd) {
    QuadraticFit other = maximize_from(factors, residual_sd);
    if (other.value > best.value) best = std::move(other);
  };
  if (starts > 2) {
    const Vector marginal_sd = full_rank_sd();
    const Vector between = marginal_sd.cwiseProduct(conditional_sd_).cwiseSqrt();
    for (const Vector& sd : {marginal_sd, between}) try_from(eigenvectors(sd, rank), sd);
  }
  for (Index k = 0; k < starts; ++k)
    try_from(conditional_sd_.asDiagonal() * random_factors(m, rank, k + 1), conditional_sd_);
  for (Index k = 0; k < starts / 2; ++k) {
    Matrix disturbed = best.factors;
    const Vector direction = conditional_sd_.cwiseProduct(random_factors(m, 1, starts + k + 1).col(0));
    disturbed.col(k % rank) += disturbed.col(k % rank).norm() / direction.norm() * direction;
    try_from(disturbed, best.residual_sd);
  }
}

}  // namespace magva
