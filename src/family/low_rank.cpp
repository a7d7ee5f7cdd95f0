#include "magva/family/low_rank.hpp"

#include <cmath>
#include <numbers>

#include "magva/error.hpp"

namespace magva {

namespace {

ManifoldKind manifold_of(FamilyKind kind) {
  switch (kind) {
    case FamilyKind::kVafc:
      return ManifoldKind::kLowerTrapezoidal;
    case FamilyKind::kStiefel:
      return ManifoldKind::kStiefel;
    case FamilyKind::kGrassmann:
      return ManifoldKind::kGrassmann;
    case FamilyKind::kFixedRank:
      return ManifoldKind::kFixedRank;
    case FamilyKind::kMeanField:
    case FamilyKind::kFullRank:
      break;
  }
  return ManifoldKind::kEuclidean;
}

bool has_orthonormal_factors(FamilyKind kind) {
  return kind == FamilyKind::kStiefel || kind == FamilyKind::kGrassmann;
}

Block make_block(std::string name, ManifoldKind manifold, Matrix value) {
  Matrix gradient = Matrix::Zero(value.rows(), value.cols());
  return {std::move(name), manifold, std::move(value), std::move(gradient)};
}

double coordinate(double scale, ScaleCoordinates coordinates) {
  return coordinates == ScaleCoordinates::kLog ? std::log(scale) : scale;
}

}  // namespace

LowRank::LowRank(const FamilyOptions& options, Index dimension, Index max_draws, std::uint64_t seed,
                 Workers& workers)
    : rank_(options.kind == FamilyKind::kMeanField ? 0 : options.rank),
      scale_coordinates_(options.scales),
      kernel_(dimension, std::max<Index>({rank_, max_draws, 1}), workers),
      d1_(Vector::Ones(rank_)),
      d2_(dimension),
      weights_(dimension),
      h_(rank_, rank_),
      k_(rank_, rank_),
      chol_(rank_),
      scaled_noise_(rank_, max_draws),
      inner_(rank_, max_draws),
      inner2_(rank_, max_draws),
      column_(dimension) {
  blocks_.push_back(make_block("mu", ManifoldKind::kEuclidean, Matrix::Zero(dimension, 1)));
  blocks_.push_back(
      make_block("d2", ManifoldKind::kEuclidean,
                 Matrix::Constant(dimension, 1, coordinate(options.initial_residual_scale, options.scales))));
  if (rank_ == 0) return;
  factor_block_ = blocks_.size();
  const ManifoldKind manifold = manifold_of(options.kind);
  blocks_.push_back(make_block("B", manifold, random_point(manifold, dimension, rank_, seed)));
  if (!has_orthonormal_factors(options.kind)) {
    // Columns of about the length of `initial_factor_scale`, as an orthonormal B would have.
    blocks_.back().value *= options.initial_factor_scale / std::sqrt(static_cast<double>(dimension));
  }
  if (options.kind != FamilyKind::kStiefel) return;
  scale_block_ = blocks_.size();
  blocks_.push_back(
      make_block("d1", ManifoldKind::kEuclidean,
                 Matrix::Constant(rank_, 1, coordinate(options.initial_factor_scale, options.scales))));
}

Vector LowRank::scales(const Block& block) const {
  return scale_coordinates_ == ScaleCoordinates::kLog ? Vector(block.value.array().exp())
                                                      : Vector(block.value);
}

void LowRank::prepare() {
  const auto load = [&](const Block& block, Vector& out) {
    if (scale_coordinates_ == ScaleCoordinates::kLog)
      out = block.value.array().exp();
    else
      out = block.value;
  };
  load(residual_block(), d2_);
  weights_ = d2_.array().square().inverse();
  half_log_det_ = d2_.array().abs().log().sum();
  if (rank_ == 0) return;
  if (scale_block_ != 0) load(blocks_[scale_block_], d1_);
  kernel_.weighted_gram(factors(), weights_, h_);
  k_ = d1_.asDiagonal() * h_ * d1_.asDiagonal();
  k_.diagonal().array() += 1;
  chol_.compute(k_);
  half_log_det_ += chol_.matrixLLT().diagonal().array().log().sum();
  k_ = d1_.asDiagonal();
  chol_.solveInPlace(k_);
  k_ = d1_.asDiagonal() * k_;
}

void LowRank::draw(ConstMatrixRef noise, MatrixRef phi) {
  const Index draws = noise.cols();
  const auto epsilon = noise.bottomRows(dimension());
  kernel_.over_rows(dimension(), [&](Range r) {
    for (Index s = 0; s < draws; ++s)
      phi.col(s).segment(r.begin, r.size()) =
          mu().col(0).segment(r.begin, r.size()) +
          d2_.segment(r.begin, r.size()).cwiseProduct(epsilon.col(s).segment(r.begin, r.size()));
  });
  if (rank_ == 0) return;
  auto z = scaled_noise_.leftCols(draws);
  z = d1_.asDiagonal() * noise.topRows(rank_);
  kernel_.multiply(1, factors(), z, 1, phi);
}

double LowRank::entropy() const {
  const auto m = static_cast<double>(dimension());
  return half_log_det_ + m / 2 * (std::log(2 * std::numbers::pi) + 1);
}

void LowRank::add_path_term(ConstMatrixRef noise, MatrixRef model_gradient) {
  const Index draws = noise.cols();
  const auto epsilon = noise.bottomRows(dimension());
  // Sigma^-1 dev = epsilon/d2 + W B t with t = d1 o z - K (H (d1 o z) + B'(epsilon/d2)).
  auto t = inner_.leftCols(draws);
  if (rank_ > 0) {
    auto z = scaled_noise_.leftCols(draws);
    z = d1_.asDiagonal() * noise.topRows(rank_);
    auto u = inner2_.leftCols(draws);
    for (Index s = 0; s < draws; ++s) {
      column_ = epsilon.col(s).cwiseQuotient(d2_);
      kernel_.gram(factors(), column_, u.col(s));
    }
    u += h_.lazyProduct(z);
    t = z - k_.lazyProduct(u);
  }
  for (Index s = 0; s < draws; ++s) {
    if (rank_ > 0)
      kernel_.multiply(1, factors(), t.col(s), 0, column_);
    else
      column_.setZero();
    kernel_.over_rows(dimension(), [&](Range r) {
      model_gradient.col(s).segment(r.begin, r.size()) +=
          epsilon.col(s).segment(r.begin, r.size()).cwiseQuotient(d2_.segment(r.begin, r.size())) +
          weights_.segment(r.begin, r.size()).cwiseProduct(column_.segment(r.begin, r.size()));
    });
  }
}

// The paper's (Stiefel4): E[g o epsilon] + diag(Sigma^-1) o d2, with diag(Sigma^-1)_i = w_i (1 - w_i b_i' K
// b_i).
void LowRank::residual_gradient(ConstMatrixRef noise, ConstVectorRef weight, ConstMatrixRef g,
                                Estimator estimator) {
  auto out = residual_block().gradient.col(0);
  const auto epsilon = noise.bottomRows(dimension());
  kernel_.over_rows(dimension(), [&](Range r) {
    auto part = out.segment(r.begin, r.size());
    part.setZero();
    for (Index s = 0; s < g.cols(); ++s)
      part += weight(s) *
              g.col(s).segment(r.begin, r.size()).cwiseProduct(epsilon.col(s).segment(r.begin, r.size()));
    if (estimator == Estimator::kEntropy) {
      auto share = column_.segment(r.begin, r.size());
      share.setZero();
      for (Index j = 0; j < rank_; ++j)
        for (Index i = 0; i < rank_; ++i)
          share += k_(i, j) * factors()
                                  .col(i)
                                  .segment(r.begin, r.size())
                                  .cwiseProduct(factors().col(j).segment(r.begin, r.size()));
      part.array() += (1 - weights_.segment(r.begin, r.size()).array() * share.array()) /
                      d2_.segment(r.begin, r.size()).array();
    }
    if (scale_coordinates_ == ScaleCoordinates::kLog) part.array() *= d2_.segment(r.begin, r.size()).array();
  });
}

// The paper's (Stiefel2): E[g (z o d1)'] + Sigma^-1 B D1^2, where Sigma^-1 B D1^2 = W B K.
void LowRank::factor_gradient(ConstMatrixRef, ConstVectorRef weight, ConstMatrixRef g, Estimator estimator) {
  Matrix& out = blocks_[factor_block_].gradient;
  if (estimator == Estimator::kEntropy) kernel_.multiply(1, factors(), k_, 0, out);
  kernel_.over_rows(dimension(), [&](Range r) {
    for (Index j = 0; j < rank_; ++j) {
      auto part = out.col(j).segment(r.begin, r.size());
      if (estimator == Estimator::kEntropy)
        part.array() *= weights_.segment(r.begin, r.size()).array();
      else
        part.setZero();
      for (Index s = 0; s < g.cols(); ++s)
        part += (weight(s) * scaled_noise_(j, s)) * g.col(s).segment(r.begin, r.size());
    }
  });
}

// The paper's (Stiefel3): E[(B'g) o z] + diag(B' Sigma^-1 B) o d1, where B' Sigma^-1 B = H - H K H.
void LowRank::factor_scale_gradient(ConstMatrixRef noise, ConstVectorRef weight, ConstMatrixRef g,
                                    Estimator estimator) {
  auto out = blocks_[scale_block_].gradient.col(0);
  auto inner = inner_.leftCols(g.cols());
  kernel_.gram(factors(), g, inner);
  out.setZero();
  for (Index s = 0; s < g.cols(); ++s) out += weight(s) * inner.col(s).cwiseProduct(noise.col(s).head(rank_));
  if (estimator == Estimator::kEntropy)
    for (Index i = 0; i < rank_; ++i) {
      double quadratic = 0;
      for (Index j = 0; j < rank_; ++j) quadratic += h_(i, j) * k_.col(j).dot(h_.col(i));
      out(i) += (h_(i, i) - quadratic) * d1_(i);
    }
  if (scale_coordinates_ == ScaleCoordinates::kLog) out.array() *= d1_.array();
}

void LowRank::gradient(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                       MatrixRef model_gradient) {
  if (estimator == Estimator::kPath) add_path_term(noise, model_gradient);
  auto mean = blocks_[0].gradient.col(0);
  mean.setZero();
  for (Index s = 0; s < model_gradient.cols(); ++s) mean += weight(s) * model_gradient.col(s);
  residual_gradient(noise, weight, model_gradient, estimator);
  if (factor_block_ != 0) factor_gradient(noise, weight, model_gradient, estimator);
  if (scale_block_ != 0) factor_scale_gradient(noise, weight, model_gradient, estimator);
}

void LowRank::times_covariance(VectorRef v) {
  column_ = v;
  v = v.cwiseProduct(d2_.cwiseAbs2());
  if (rank_ == 0) return;
  auto inner = inner_.col(0);
  kernel_.gram(factors(), column_, inner);
  inner.array() *= d1_.array().square();
  kernel_.multiply(1, factors(), inner, 1, v);
}

Gaussian LowRank::gaussian(const std::vector<Block>& at) const {
  Matrix w(dimension(), rank_);
  if (factor_block_ != 0) w = at[factor_block_].value;
  if (scale_block_ != 0) w *= scales(at[scale_block_]).asDiagonal();
  return Gaussian::low_rank(at[0].value, std::move(w), scales(at[1]).cwiseAbs());
}

}  // namespace magva
