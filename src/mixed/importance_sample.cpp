#include "mixed/importance_sample.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/noise.hpp"

namespace magva::mixed {

namespace {

/// Evaluations between two questions whether to go on, for each thread.
constexpr Index kBatchPerThread = 8;
/// Effective draws, at least, and for each dimension, that a Gaussian's moments rest on.
constexpr double kFewestEffective = 20;
constexpr double kEffectivePerDimension = 4;

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// exp(power * log_weights), normalised.
Vector flattened(const Vector& log_weights, double power) {
  Vector share = (power * (log_weights.array() - log_weights.maxCoeff())).exp();
  return share / share.sum();
}

double effective(const Vector& share) { return 1 / share.squaredNorm(); }

/// The largest power, up to 1, at which enough draws are effective.
Vector usable_shares(const Vector& log_weights, Index dimension) {
  const double enough =
      std::min(.5 * static_cast<double>(log_weights.size()),
               std::max(kFewestEffective, kEffectivePerDimension * static_cast<double>(dimension)));
  Vector share = flattened(log_weights, 1);
  if (effective(share) >= enough) return share;
  double low = 0;
  double high = 1;
  for (int k = 0; k < 30; ++k) {
    const double middle = .5 * (low + high);
    (effective(flattened(log_weights, middle)) >= enough ? low : high) = middle;
  }
  return flattened(log_weights, low);
}

}  // namespace

std::vector<Index> ImportanceSample::named(const Model& model, std::string_view beginning) {
  std::vector<Index> found;
  for (Index i = 0; i < model.dimension(); ++i)
    if (model.parameter_name(i).starts_with(beginning)) found.push_back(i);
  return found;
}

void ImportanceSample::add(const Gaussian& around, Index count, std::uint64_t seed) {
  const StudentT proposal(around, log_sds_);
  const Matrix theta = proposal.draws(count + count % 2, seed);
  Vector log_posterior(theta.cols());
  const Index batch = kBatchPerThread * workers_.threads();
  for (Index first = 0; first < theta.cols(); first += batch) {
    const Index columns = std::min(batch, theta.cols() - first);
    if (control_ != nullptr) {
      control_->spend(static_cast<double>(columns));
      control_->poll();
    }
    log_posterior.segment(first, columns) = model_.log_densities(theta.middleCols(first, columns), workers_);
  }
  for (double& value : log_posterior)
    if (!std::isfinite(value)) value = kNever;

  const Index before = size(), now = before + theta.cols();
  theta_.conservativeResize(theta.rows(), now);
  theta_.rightCols(theta.cols()) = theta;
  log_posterior_.conservativeResize(now);
  log_posterior_.tail(theta.cols()) = log_posterior;
  rounds_.push_back(proposal);
  counts_.push_back(theta.cols());
  log_proposal_.conservativeResize(now, static_cast<Index>(rounds_.size()));
  for (std::size_t r = 0; r + 1 < rounds_.size(); ++r)
    log_proposal_.col(static_cast<Index>(r)).tail(theta.cols()) = rounds_[r].log_density(theta);
  log_proposal_.rightCols(1) = proposal.log_density(theta_);
}

Vector ImportanceSample::mixture() const {
  const Vector highest = log_proposal_.rowwise().maxCoeff();
  Vector sum = Vector::Zero(size());
  for (std::size_t r = 0; r < rounds_.size(); ++r)
    sum.array() += static_cast<double>(counts_[r]) / static_cast<double>(size()) *
                   (log_proposal_.col(static_cast<Index>(r)) - highest).array().exp();
  return highest.array() + sum.array().log();
}

std::optional<SmoothedWeights> ImportanceSample::weights() const {
  if (!(log_posterior_.maxCoeff() > kNever)) return std::nullopt;
  return smooth_weights(log_posterior_ - mixture());
}

std::optional<Gaussian> ImportanceSample::moments(const SmoothedWeights& weights) const {
  const Vector share = usable_shares(weights.log_weights, theta_.rows());
  const Vector mean = theta_ * share;
  const Matrix centred = theta_.colwise() - mean;
  const Eigen::LLT<Matrix> llt(centred * share.asDiagonal() * centred.transpose());
  if (llt.info() != Eigen::Success || !mean.allFinite()) return std::nullopt;
  return Gaussian::dense(mean, llt.matrixL());
}

// By the delta method, of self-normalised weights: the variance of sum w z^2 is that of sum w (z^2 - 1).
double ImportanceSample::error_of_sds(const SmoothedWeights& weights) const {
  const Vector share = weights.log_weights.array().exp();
  Matrix values = theta_;
  for (const Index j : logs_) values.row(j) = values.row(j).array().exp();
  values.colwise() -= (values * share).eval();
  double largest = 0;
  for (Index j = 0; j < values.rows(); ++j) {
    const Vector squares = values.row(j).cwiseAbs2();
    const double variance = squares.dot(share);
    if (!(variance > 0)) continue;
    largest = std::max(largest, .5 * share.cwiseProduct(Vector(squares.array() / variance - 1)).norm());
  }
  return largest;
}

ImportanceSample::Elbo ImportanceSample::elbo(const Gaussian& q) const {
  const Vector log_q = q.log_density(theta_);
  const Vector share = flattened(log_q - mixture(), 1);
  double mean = 0;
  for (Index s = 0; s < size(); ++s)
    if (share(s) > 1e-12) mean += share(s) * (log_posterior_(s) - log_q(s));
  double variance = 0;
  for (Index s = 0; s < size(); ++s)
    if (share(s) > 1e-12) variance += std::pow(share(s) * (log_posterior_(s) - log_q(s) - mean), 2);
  return {mean, std::sqrt(variance)};
}

Matrix ImportanceSample::resample(const SmoothedWeights& weights, Index count, std::uint64_t seed) const {
  Matrix normal(1, 1);
  Noise(seed, NoiseStream::kRandomPoint).fill(3, 0, normal);
  const double shift = .5 * std::erfc(-normal(0, 0) / std::sqrt(2.0));
  Matrix out(theta_.rows(), count);
  double sum = 0;
  Index at = 0;
  for (Index k = 0; k < count; ++k) {
    const double target = (static_cast<double>(k) + shift) / static_cast<double>(count);
    while (at < size() - 1 && sum + std::exp(weights.log_weights(at)) < target)
      sum += std::exp(weights.log_weights(at++));
    out.col(k) = theta_.col(at);
  }
  return out;
}

}  // namespace magva::mixed
