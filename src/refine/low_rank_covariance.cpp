#include "refine/low_rank_covariance.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

#include "fit/constants.hpp"
#include "magva/error.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

LowRankCovariance::LowRankCovariance(Matrix factors, ConstVectorRef residual_sd,
                                     std::optional<Matrix> curvature)
    : factors_(std::move(factors)), log_residual_(residual_sd.array().log()) {
  if (curvature) {
    const Eigen::LLT<Matrix> llt(*curvature);
    if (llt.info() != Eigen::Success) throw DataError("the curvature is not positive definite");
    newton_root_ = llt.matrixL();
    control_ = std::move(*curvature);
  }
  refresh();
}

void LowRankCovariance::refresh() {
  sigma_ = LowRankPlusDiagonal(factors_, log_residual_.col(0).array().exp());
}

bool LowRankCovariance::sketches() const { return control_.size() == 0 && m() > constants::kDenseDimension; }

void LowRankCovariance::draw(PairBatch& batch) const {
  batch.deviation.noalias() = factors_ * batch.noise.topRows(p());
  batch.deviation += residual_sd().asDiagonal() * batch.noise.bottomRows(m());
  batch.solved = solve(batch.deviation);
}

Vector LowRankCovariance::mean_step(ConstVectorRef gradient) const {
  if (sketch_) return sketch_->bound_solve(gradient);
  if (!controlled_ || newton_root_.size() == 0)
    return factors_ * (factors_.transpose() * gradient) + residual_sd().cwiseAbs2().cwiseProduct(gradient);
  Vector step = newton_root_.triangularView<Eigen::Lower>().solve(gradient);
  newton_root_.triangularView<Eigen::Lower>().transpose().solveInPlace(step);
  return step;
}

Vector LowRankCovariance::longest_mean_step(ConstVectorRef gradient) const {
  return sketch_ ? sketch_->lowest_solve(gradient) : mean_step(gradient);
}

Matrix LowRankCovariance::control_times(ConstMatrixRef x) const {
  if (sketch_) return solve(x) + sketch_->excess_times(x);
  return .5 * (control_ * x + control_.transpose() * x);
}

Vector LowRankCovariance::control_diagonal() const {
  if (!sketch_) return control_.diagonal();
  return sigma_.inverse_diagonal() + sketch_->excess_diagonal();
}

Matrix LowRankCovariance::controlled_residual(ConstMatrixRef odd, ConstMatrixRef deviation) const {
  if (sketch_) return odd + control_times(deviation);
  Matrix out = odd;
  out.noalias() += .5 * (control_ * deviation);
  out.noalias() += .5 * (control_.transpose() * deviation);
  return out;
}

// In the metric of Sigma^-1 for directions, that is of Sigma for gradients.
double LowRankCovariance::squared_size(const Matrix& gradients) const {
  return (factors_.transpose() * gradients).squaredNorm() +
         (residual_sd().asDiagonal() * gradients).squaredNorm();
}

// The control variate is used only where it leaves less than the path derivative's own, A = Sigma^-1; where
// it has gone astray it starts again from there.
void LowRankCovariance::prepare(const PairBatch& batch) {
  if (control_.size() == 0 && !sketch_) return;
  const double with = squared_size(controlled_residual(batch.odd, batch.deviation));
  const double without = squared_size(batch.odd + batch.solved);
  controlled_ = with < without;
  astray_ = !(with < constants::kControlAstray * without);
  if (sketch_) return;
  const double square = with / (static_cast<double>(batch.pairs()) * static_cast<double>(m()));
  const bool first = learned_(1, 0) == 0;
  learned_(1, 0) += (first ? 1 : constants::kGainWeight) * (square - learned_(1, 0));
  if (first) renew();
  if (astray_) control_ = solve(Matrix::Identity(m(), m()));
}

// With G = sym E[(g + Sigma^-1 delta) delta' Sigma^-1] the differential is (G W, diag(G) d^2). A matrix A
// near E[-Hessian] lowers its noise: G = Sigma^-1 - A + sym E[(g + A delta) delta' Sigma^-1] for every A.
Tangent LowRankCovariance::differential(const PairBatch& batch, Index first, Index count) const {
  const auto deviation = batch.deviation.middleCols(first, count);
  const auto solved = batch.solved.middleCols(first, count);
  const auto odd = batch.odd.middleCols(first, count);
  if (!controlled_) return estimated(odd + solved, solved);
  return combine(1, expected(), 1, estimated(controlled_residual(odd, deviation), solved));
}

// For directions that A leaves alone, E[(g + A delta) delta' Sigma^-1] has no blocks between these and the
// rest; but the noise of a few directions with large gradients, times the draws of all others, is there.
std::optional<Tangent> LowRankCovariance::block_differential(const PairBatch& batch, Index first,
                                                             Index count) const {
  if (!sketch_ || astray_) return std::nullopt;
  const Matrix solved = batch.solved.middleCols(first, count);
  const Matrix residual =
      controlled_residual(batch.odd.middleCols(first, count), batch.deviation.middleCols(first, count));
  const Matrix known_solved = sketch_->known_part(solved);
  const Matrix known_residual = sketch_->known_part(residual);
  const Tangent known = estimated(known_residual, known_solved);
  const Tangent rest = estimated(residual - known_residual, solved - known_solved);
  return combine(1, expected(), 1, combine(1, known, 1, rest));
}

Tangent LowRankCovariance::estimated(const Matrix& residual, const Matrix& solved) const {
  const double share = 1 / static_cast<double>(solved.cols());
  return {(.5 * share) *
              (residual * (solved.transpose() * factors_) + solved * (residual.transpose() * factors_)),
          share * residual.cwiseProduct(solved).rowwise().sum().cwiseProduct(residual_sd().cwiseAbs2())};
}

Tangent LowRankCovariance::expected() const {
  return {solve(factors_) - control_times(factors_),
          (sigma_.inverse_diagonal() - control_diagonal()).cwiseProduct(residual_sd().cwiseAbs2())};
}

void LowRankCovariance::move(const Tangent& direction, double step) {
  const double change = step * largest_change(direction);
  const double shrunk = step * std::min(1., constants::kLargestScaleStep / std::max(change, 1e-300));
  factors_ += shrunk * direction.factors;
  log_residual_ += (shrunk * direction.scales)
                       .cwiseMax(-constants::kLargestScaleStep)
                       .cwiseMin(constants::kLargestScaleStep);
  refresh();
}

void LowRankCovariance::scale(double factor) {
  factors_ *= factor;
  log_residual_.array() += std::log(factor);
  refresh();
}

double LowRankCovariance::control_memory() const {
  return std::max(constants::kControlMemory * static_cast<double>(m()),
                  constants::kControlShare * learned_(0, 0));
}

// A mean of n products r z' with entries of variance s^2 has a spectral norm of about 2 s sqrt(m/n).
double LowRankCovariance::control_noise() const {
  return std::min(constants::kMostControlNoise,
                  2 * std::sqrt(learned_(1, 0) * static_cast<double>(m()) / control_memory()));
}

// A <- A - r mean[(g + A delta) delta' Sigma^-1]: its fixed point is E[-Hessian]. It is not kept symmetric,
// so that each pair corrects A in the direction that it has seen and nowhere else; only its symmetric part is
// used.
void LowRankCovariance::learn(const PairBatch& batch) {
  if (control_.size() == 0) return;
  const auto count = static_cast<double>(batch.pairs());
  learned_(0, 0) += count;
  const double rate = std::min(constants::kControlRate, count / control_memory());
  Matrix residual = batch.odd;
  residual.noalias() += control_ * batch.deviation;
  control_.noalias() -= (rate / count) * residual * batch.solved.transpose();
}

// The mean's Newton steps use A, with as much of Sigma^-1 as its noise makes necessary.
void LowRankCovariance::renew() {
  if (control_.size() == 0) return;
  const Matrix precision = solve(Matrix::Identity(m(), m()));
  double share = control_noise();
  for (int k = 0; k < constants::kNewtonDampings; ++k, share = 4 * share + constants::kMetricDamping) {
    const Eigen::LLT<Matrix> llt(symmetric_control() + share * precision);
    if (llt.info() != Eigen::Success) continue;
    newton_root_ = llt.matrixL();
    return;
  }
  newton_root_.resize(0, 0);
}

// The highest top for the learned curvature, where it promises more than the one that the iterates have
// settled on.
std::optional<Tangent> LowRankCovariance::alternative(double gain) const {
  if (!controlled_ || p() == 0 || sketch_) return std::nullopt;
  const Matrix precision = solve(Matrix::Identity(m(), m()));
  for (const double share : constants::kAlternativeShares) {
    const Matrix mixed = (1 - share) * symmetric_control() + share * precision;
    if (Eigen::LLT<Matrix>(mixed).info() != Eigen::Success) continue;
    const QuadraticFitter fitter(mixed);
    const double here = fitter.climb(factors_, residual_sd()).value;
    QuadraticFit there = fitter.best(p());
    if (there.value < here + gain) return std::nullopt;
    return Tangent{std::move(there.factors), there.residual_sd.array().log()};
  }
  return std::nullopt;
}

// Turned so that the factors lie as near as possible to the reference's: W and W Q give the same Sigma.
Tangent LowRankCovariance::coordinates(const Tangent* reference) const {
  if (reference == nullptr || p() == 0) return {factors_, log_residual_.col(0)};
  const Vector weight = (-2 * reference->scales).array().exp();
  const Matrix overlap = factors_.transpose() * (weight.asDiagonal() * reference->factors);
  const Eigen::SelfAdjointEigenSolver<Matrix> gram(overlap.transpose() * overlap);
  const Vector lengths =
      gram.eigenvalues().cwiseMax(1e-14 * gram.eigenvalues().maxCoeff() + 1e-300).cwiseSqrt();
  const Matrix turn =
      overlap * gram.eigenvectors() * lengths.cwiseInverse().asDiagonal() * gram.eigenvectors().transpose();
  return {factors_ * turn, log_residual_.col(0)};
}

bool LowRankCovariance::assign(const Tangent& coordinates) {
  if (!coordinates.factors.allFinite() || !coordinates.scales.allFinite()) return false;
  factors_ = coordinates.factors;
  log_residual_ = coordinates.scales;
  refresh();
  return std::isfinite(log_determinant());
}

std::unique_ptr<Covariance> make_low_rank(Matrix factors, ConstVectorRef residual_sd,
                                          std::optional<Matrix> curvature) {
  return std::make_unique<LowRankCovariance>(std::move(factors), residual_sd, std::move(curvature));
}

}  // namespace magva
