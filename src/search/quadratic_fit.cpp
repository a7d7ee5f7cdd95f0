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
/// L-BFGS runs, and iterations of each.
constexpr int kQuadraticRestarts = 20;
constexpr int kQuadraticIterations = 1000;
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

/// The value and its gradient in coordinates (V, x): W = L^-T V with A = L L', and d^2 = c^2 (floor + exp(2
/// x)) with the conditional sds c. In V the term tr(A W W') is |V|^2: an ascent takes a third of the
/// iterations that it takes in W scaled by c. Some residual sds may tend to 0 on the way to a maximum (factor
/// analysis knows this as a Heywood case): the floor keeps Sigma^-1 computable.
class Objective {
 public:
  Objective(const Matrix& cholesky, const Vector& conditional_sd, Index rank)
      : cholesky_(cholesky), sd_(conditional_sd), rank_(rank) {}

  Index dimension() const { return sd_.size() * (rank_ + 1); }

  Vector coordinates(ConstMatrixRef factors, ConstVectorRef residual_sd) const {
    Vector out(dimension());
    out.head(sd_.size() * rank_) =
        Matrix(cholesky_.triangularView<Eigen::Lower>().transpose() * factors).reshaped();
    out.tail(sd_.size()) =
        .5 * (residual_sd.cwiseQuotient(sd_).array().square() - floor()).max(floor()).log();
    return out;
  }

  Matrix factors(ConstVectorRef at) const {
    Matrix out = at.head(sd_.size() * rank_).reshaped(sd_.size(), rank_);
    cholesky_.triangularView<Eigen::Lower>().transpose().solveInPlace(out);
    return out;
  }
  Vector residual_sd(ConstVectorRef at) const {
    return sd_.array() * (floor() + (2 * at.tail(sd_.size())).array().exp()).sqrt();
  }

  double operator()(ConstVectorRef at, VectorRef gradient) const {
    const Index m = sd_.size();
    const Vector d = residual_sd(at);
    // With a = D^-1 W and C = I + a'a: Sigma^-1 W = D^-1 a C^-1, diag(Sigma^-1) = (1 - |C^-1/2 a_i|^2) / d^2.
    const Matrix a = d.cwiseInverse().asDiagonal() * factors(at);
    Matrix c = a.transpose() * a;
    c.diagonal().array() += 1;
    const Eigen::LLT<Matrix> llt(c);
    const Matrix inverse = llt.solve(Matrix::Identity(rank_, rank_));
    Matrix solved = a * inverse;
    const Vector inverse_diagonal = (1 - solved.cwiseProduct(a).rowwise().sum().array()) / d.array().square();
    solved.array().colwise() /= d.array();
    cholesky_.triangularView<Eigen::Lower>().solveInPlace(solved);
    gradient.head(m * rank_) = solved.reshaped() - at.head(m * rank_);
    gradient.tail(m) = (inverse_diagonal.array() * sd_.array().square() - 1) * (2 * at.tail(m)).array().exp();
    return -.5 * at.head(m * rank_).squaredNorm() - .5 * d.cwiseQuotient(sd_).squaredNorm() +
           d.array().log().sum() + Vector(llt.matrixLLT().diagonal()).array().log().sum();
  }

 private:
  static double floor() { return kResidualFloor * kResidualFloor; }
  const Matrix& cholesky_;
  const Vector& sd_;
  Index rank_;
};

}  // namespace

QuadraticFitter::QuadraticFitter(ConstMatrixRef precision, Control* control)
    : precision_(precision),
      conditional_sd_(precision.diagonal().cwiseSqrt().cwiseInverse()),
      control_(control) {
  const Eigen::LLT<Matrix> llt(precision_);
  if (llt.info() != Eigen::Success) throw DataError("the curvature is not positive definite");
  cholesky_ = llt.matrixL();
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

double QuadraticFitter::value(ConstMatrixRef factors, ConstVectorRef residual_sd) const {
  const LowRankPlusDiagonal sigma(factors, residual_sd);
  const Matrix image = cholesky_.triangularView<Eigen::Lower>().transpose() * factors;
  return -.5 * (image.squaredNorm() + residual_sd.cwiseQuotient(conditional_sd_).squaredNorm()) +
         .5 * sigma.log_determinant();
}

QuadraticFit QuadraticFitter::maximize_from(ConstMatrixRef factors, ConstVectorRef residual_sd,
                                            double tolerance) const {
  if (factors.cols() == 0) return mean_field();
  const Objective objective(cholesky_, conditional_sd_, factors.cols());
  const auto model = make_model(objective.dimension(), objective);
  Evaluator evaluator(model, 1, control_, 0);
  Vector at = objective.coordinates(factors, residual_sd);
  double value = 0;
  for (int k = 0; k < kQuadraticRestarts; ++k) {
    const ModeSearch search = search_mode(evaluator, at, kQuadraticIterations);
    at = search.end.theta;
    value = search.end.log_density;
    if (value - search.path.front().log_density < tolerance) break;
  }
  return {objective.factors(at), objective.residual_sd(at), value};
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
