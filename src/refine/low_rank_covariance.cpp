#include "refine/low_rank_covariance.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

#include "refine/low_rank_differential.hpp"

namespace magva {

LowRankCovariance::LowRankCovariance(Matrix factors, ConstVectorRef residual_sd, Workers& workers)
    : kernel_(std::make_shared<TallSkinny>(factors.rows(), std::max<Index>(1, factors.cols()), workers)),
      log_residual_(residual_sd.array().log()),
      sigma_(std::move(factors), residual_sd, *kernel_) {}

void LowRankCovariance::set(const Matrix& factors, const Vector& log_residual) {
  log_residual_ = log_residual;
  sigma_.assign(factors, log_residual_.array().exp().matrix(), *kernel_);
}

Matrix LowRankCovariance::solve(ConstMatrixRef v) const {
  Matrix out(v.rows(), v.cols());
  sigma_.view().solve(v, out, *kernel_);
  return out;
}

Vector LowRankCovariance::times(ConstVectorRef v) const {
  Vector out(v.size());
  sigma_.view().times(v, out, *kernel_);
  return out;
}

Vector LowRankCovariance::inverse_diagonal() const {
  Vector out(m());
  sigma_.view().inverse_diagonal(out, *kernel_);
  return out;
}

void LowRankCovariance::draw(PairBatch& batch) const {
  batch.deviation.resize(m(), batch.pairs());
  batch.precision_times_delta.resize(m(), batch.pairs());
  sigma_.view().draw(batch.noise, batch.deviation, *kernel_);
  sigma_.view().solve(batch.deviation, batch.precision_times_delta, *kernel_);
}

CovarianceTangent LowRankCovariance::differential(const PairBatch& batch, PairRange pairs,
                                                  const ExpectedCurvature* curvature) const {
  return low_rank_differential(*this, batch, pairs, curvature);
}

void LowRankCovariance::move(const CovarianceTangent& direction, double step) {
  const double change = step * largest_change(direction);
  const double shrunk = step * std::min(1., kLargestScaleStep / std::max(change, 1e-300));
  const Vector scales =
      log_residual_ + (shrunk * direction.scales).cwiseMax(-kLargestScaleStep).cwiseMin(kLargestScaleStep);
  set(factors() + shrunk * direction.factors, scales);
}

void LowRankCovariance::scale(double factor) {
  set(factor * factors(), log_residual_.array() + std::log(factor));
}

// Turned so that the factors lie as near as possible to the reference's: W and W Q give the same Sigma.
CovarianceTangent LowRankCovariance::coordinates(const CovarianceTangent* reference) const {
  if (reference == nullptr || p() == 0) return {factors(), log_residual_};
  const Vector weight = (-2 * reference->scales).array().exp();
  const Matrix overlap = factors().transpose() * (weight.asDiagonal() * reference->factors);
  const Eigen::SelfAdjointEigenSolver<Matrix> gram(overlap.transpose() * overlap);
  const Vector lengths =
      gram.eigenvalues().cwiseMax(1e-14 * gram.eigenvalues().maxCoeff() + 1e-300).cwiseSqrt();
  const Matrix turn =
      overlap * gram.eigenvectors() * lengths.cwiseInverse().asDiagonal() * gram.eigenvectors().transpose();
  return {factors() * turn, log_residual_};
}

bool LowRankCovariance::assign(const CovarianceTangent& coordinates) {
  if (!coordinates.factors.allFinite() || !coordinates.scales.allFinite()) return false;
  set(coordinates.factors, coordinates.scales);
  return std::isfinite(log_determinant());
}

void LowRankCovariance::save(io::ChecksummedWriter& out) const {
  out.integer(static_cast<std::int64_t>(SavedCovariance::kLowRank));
  out.matrix(factors());
  out.matrix(residual_sd());
  out.matrix(log_residual_);
}

LowRankCovariance LowRankCovariance::read(io::ChecksummedReader& in, Workers& workers) {
  Matrix factors = in.matrix();
  const Vector residual_sd = in.matrix().reshaped();
  Vector log_residual = in.matrix().reshaped();
  if (factors.rows() != residual_sd.size() || log_residual.size() != residual_sd.size())
    in.fail("its parts do not fit each other");
  LowRankCovariance covariance(std::move(factors), residual_sd, workers);
  covariance.log_residual_ = std::move(log_residual);
  return covariance;
}

std::unique_ptr<Covariance> read_covariance(io::ChecksummedReader& in, Workers& workers) {
  const std::int64_t kind = in.integer();
  if (kind == static_cast<std::int64_t>(SavedCovariance::kFullRank)) return read_full_rank(in);
  if (kind == static_cast<std::int64_t>(SavedCovariance::kSparsePrecision)) return read_sparse_precision(in);
  return std::make_unique<LowRankCovariance>(LowRankCovariance::read(in, workers));
}

std::unique_ptr<Covariance> make_low_rank(Matrix factors, ConstVectorRef residual_sd, Workers& workers) {
  return std::make_unique<LowRankCovariance>(std::move(factors), residual_sd, workers);
}

}  // namespace magva
