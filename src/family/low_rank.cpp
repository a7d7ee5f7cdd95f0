#include "family/low_rank.hpp"

#include <cmath>
#include <numbers>

#include "core/huge_pages.hpp"
#include "core/panel_kernels.hpp"
#include "core/symmetric.hpp"
#include "core/vector.hpp"

namespace magva {

namespace {

using detail::for_each_vec;
using detail::multiply_add;
using detail::set;
using detail::Vec;

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

Block make_block(BlockKind kind, ManifoldKind manifold, Matrix value) {
  Matrix gradient = huge_page_zeros(value.rows(), value.cols());
  return {kind, manifold, std::move(value), std::move(gradient)};
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
      d2_(options.scales == ScaleCoordinates::kLog ? dimension : 0),
      weights_(kPanelRows, row_tasks(dimension)),
      gradient_rows_(2 * kPanelRows, row_tasks(dimension)),
      capacitance_(rank_),
      log_sums_(row_tasks(dimension)),
      weighted_(dimension, rank_, rank_),
      inner_sum_(dimension, rank_, max_draws),
      scaled_noise_(rank_, max_draws),
      weighted_noise_(rank_, max_draws),
      column_(dimension),
      no_factors_(dimension, 0) {
  add_blocks(options, dimension, seed);
  mean_ = find_block(blocks_, BlockKind::kMean);
  residual_scale_ = find_block(blocks_, BlockKind::kResidualScale);
  factors_ = find_block(blocks_, BlockKind::kFactors);
  factor_scale_ = find_block(blocks_, BlockKind::kFactorScale);
}

void LowRank::add_blocks(const FamilyOptions& options, Index dimension, std::uint64_t seed) {
  blocks_.push_back(make_block(BlockKind::kMean, ManifoldKind::kEuclidean, huge_page_zeros(dimension, 1)));
  blocks_.push_back(
      make_block(BlockKind::kResidualScale, ManifoldKind::kEuclidean, huge_page_matrix(dimension, 1)));
  blocks_.back().value.setConstant(coordinate(options.initial_residual_scale, options.scales));
  if (rank_ == 0) return;
  const ManifoldKind manifold = manifold_of(options.kind);
  blocks_.push_back(
      make_block(BlockKind::kFactors, manifold, random_point(manifold, dimension, rank_, seed)));
  if (!has_orthonormal_factors(options.kind)) {
    // Columns of about the length of `initial_factor_scale`, as an orthonormal B would have.
    blocks_.back().value *= options.initial_factor_scale / std::sqrt(static_cast<double>(dimension));
  }
  if (options.kind != FamilyKind::kStiefel) return;
  blocks_.push_back(
      make_block(BlockKind::kFactorScale, ManifoldKind::kEuclidean,
                 Matrix::Constant(rank_, 1, coordinate(options.initial_factor_scale, options.scales))));
}

Vector LowRank::scales(const Block& block) const {
  return scale_coordinates_ == ScaleCoordinates::kLog ? Vector(block.value.array().exp())
                                                      : Vector(block.value);
}

void LowRank::load_scales(const Block& block, Range r, Vector& out) const {
  const auto stored = block.value.col(0).segment(r.begin, r.size()).array();
  auto scale = out.segment(r.begin, r.size()).array();
  if (scale_coordinates_ == ScaleCoordinates::kLog)
    scale = stored.exp();
  else
    scale = stored;
}

void LowRank::start_covariance() {
  log_sums_.setZero();
  weighted_.start(rank_, rank_);
  if (factor_scale_) load_scales(*factor_scale_, {0, rank_}, d1_);
}

void LowRank::prepare_panel(Range r, Index task) {
  if (scale_coordinates_ == ScaleCoordinates::kLog) load_scales(*residual_scale_, r, d2_);
  const auto d2 = residual_sds().segment(r.begin, r.size());
  log_sums_(task) += detail::sum_of_logs(d2.data(), r.size());
  if (rank_ == 0) return;
  auto weights = weights_.col(task).head(r.size());
  weights = d2.array().square().inverse();
  const MutablePanel scaled = kernel_.scratch_panel(r, rank_, task);
  detail::scale_rows(panel(factors(), r), weights.data(), scaled);
  weighted_.add_symmetric(panel(factors(), r), as_const(scaled), task);
}

void LowRank::finish_covariance() {
  half_log_det_ = log_sums_.sum();
  if (rank_ > 0) factorize(weighted_.symmetric_total());
}

void LowRank::factorize(ConstMatrixRef weighted_gram) {
  capacitance_.compute(weighted_gram, d1_);
  half_log_det_ += .5 * capacitance_.log_determinant();
}

const Matrix& LowRank::start_draw_elsewhere(ConstMatrixRef noise) {
  if (factor_scale_) load_scales(*factor_scale_, {0, rank_}, d1_);
  scale_noise(noise);
  return scaled_noise_;
}

void LowRank::finish_draw_elsewhere(double log_sum, ConstMatrixRef weighted_gram) {
  half_log_det_ = log_sum;
  if (rank_ > 0) factorize(weighted_gram);
}

void LowRank::finish_gradient_elsewhere(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                                        ConstMatrixRef inner) {
  parts_ = {panel(noise, {0, rank_}), {}, {}, weight.data(), estimator};
  if (factor_scale_) factor_scale_gradient(inner);
}

void LowRank::prepare() {
  start_covariance();
  sweep_back(dimension(), kernel_.workers(), [&](Range r, Index task) { prepare_panel(r, task); });
  finish_covariance();
}

void LowRank::scale_noise(ConstMatrixRef noise) {
  for (Index s = 0; s < noise.cols(); ++s)
    for (Index j = 0; j < rank_; ++j) scaled_noise_(j, s) = d1_(j) * noise(j, s);
}

void LowRank::set_draws(ConstMatrixRef noise, MatrixRef phi) {
  scale_noise(noise);
  draws_ = {panel(noise, {rank_, noise.rows()}), mutable_panel(phi, {0, phi.rows()})};
}

void LowRank::draw_panel(Range r) {
  const auto& [epsilons, phi] = draws_;
  const double* mean = mean_->value.data() + r.begin;
  const double* d2 = residual_sds().data() + r.begin;
  for (Index s = 0; s < phi.cols; ++s) {
    const double* epsilon = epsilons.col(s) + r.begin;
    double* out = phi.col(s) + r.begin;
    for_each_vec(r.size(),
                 [&](auto at) { at.store(out, multiply_add(at.load(d2), at.load(epsilon), at.load(mean))); });
  }
  if (rank_ > 0)
    detail::multiply(1, panel(factors(), r), scaled_noise_.leftCols(phi.cols), 1,
                     {phi.data + r.begin, phi.stride, r.size(), phi.cols});
}

void LowRank::draw(ConstMatrixRef noise, MatrixRef phi) {
  set_draws(noise, phi);
  sweep(dimension(), kernel_.workers(), [&](Range r, Index) { draw_panel(r); });
}

void LowRank::start_draw(ConstMatrixRef noise, MatrixRef phi) {
  start_covariance();
  set_draws(noise, phi);
}

void LowRank::draw_rows(Range r, Index task) {
  prepare_panel(r, task);
  draw_panel(r);
}

void LowRank::prefetch_factors(Range r, Index task) {
  PrefetchQueue& prefetch = kernel_.prefetch(task);
  prefetch.clear();
  add(prefetch, panel(factors(), preceding(r)));
  prefetch.issue_all();
}

void LowRank::prepare_and_draw(ConstMatrixRef noise, MatrixRef phi) {
  start_draw(noise, phi);
  sweep_back(dimension(), kernel_.workers(), [&](Range r, Index task) {
    if (rank_ > 0) prefetch_factors(r, task);
    draw_rows(r, task);
  });
  finish_draw();
}

double LowRank::entropy() const {
  const auto m = static_cast<double>(dimension());
  return half_log_det_ + m / 2 * (std::log(2 * std::numbers::pi) + 1);
}

void LowRank::add_path_term(ConstMatrixRef noise, MatrixRef model_gradient) {
  for (Index s = 0; s < noise.cols(); ++s) {
    covariance().solve_draw(noise.col(s), column_, kernel_);
    sweep(dimension(), kernel_.workers(), [&](Range r, Index) {
      model_gradient.col(s).segment(r.begin, r.size()) += column_.segment(r.begin, r.size());
    });
  }
}

void LowRank::start_gradient(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                             MatrixRef model_gradient) {
  const Index draws = model_gradient.cols();
  if (estimator == Estimator::kPath) add_path_term(noise, model_gradient);
  for (Index s = 0; s < draws; ++s)
    for (Index j = 0; j < rank_; ++j) weighted_noise_(j, s) = weight(s) * scaled_noise_(j, s);
  inner_sum_.start(rank_, draws);
  parts_ = {panel(noise, {0, rank_}), panel(noise, {rank_, noise.rows()}),
            panel(model_gradient, {0, dimension()}), weight.data(), estimator};
}

// The paper's (Stiefel4), E[g o epsilon] + diag(Sigma^-1) o d2 with diag(Sigma^-1)_i = w_i (1 - w_i b_i' K
// b_i), and (Stiefel2), E[g (z o d1)'] + Sigma^-1 B D1^2 with Sigma^-1 B D1^2 = W B K, on these rows.
RowwiseFamily::GradientRows LowRank::compute_gradient_rows(Range r, Index task,
                                                           const MutablePanel& of_factors) {
  const bool entropy = parts_.estimator == Estimator::kEntropy;
  const bool log_scales = scale_coordinates_ == ScaleCoordinates::kLog;
  const Index draws = parts_.model.cols;
  const auto epsilon = [&](Index s) { return parts_.epsilon.col(s) + r.begin; };
  const auto model = [&](Index s) { return parts_.model.col(s) + r.begin; };
  const double* d2 = residual_sds().data() + r.begin;
  double* of_mean = gradient_rows_.col(task).data();
  double* of_residual = of_mean + kPanelRows;
  const Panel b = panel(factors(), r);
  if (factor_scale_) inner_sum_.add(b, {model(0), parts_.model.stride, r.size(), draws}, task);
  if (entropy && rank_ > 0) detail::multiply(1, b, capacitance_.inverse(), 0, of_factors);
  for_each_vec(r.size(), [&](auto at) {
    Vec mean{};
    Vec residual{};
    for (Index s = 0; s < draws; ++s) {
      const Vec share = parts_.weight[s] * at.load(model(s));
      mean += share;
      residual = multiply_add(share, at.load(epsilon(s)), residual);
    }
    at.store(of_mean, mean);
    const Vec inverse = 1. / at.load(d2);
    const Vec w = inverse * inverse;
    Vec quadratic{};
    for (Index j = 0; j < rank_; ++j) {
      Vec sum{};
      if (entropy) {
        const Vec bk = at.load(of_factors.col(j));
        quadratic = multiply_add(bk, at.load(b.col(j)), quadratic);
        sum = bk * w;
      }
      for (Index s = 0; s < draws; ++s)
        sum = multiply_add(set(weighted_noise_(j, s)), at.load(model(s)), sum);
      at.store(of_factors.col(j), sum);
    }
    if (entropy) residual += (1 - w * quadratic) * inverse;
    at.store(of_residual, log_scales ? residual * at.load(d2) : residual);
  });
  return {{of_mean, r.size(), r.size(), 1}, {of_residual, r.size(), r.size(), 1}};
}

// The paper's (Stiefel3): E[(B'g) o z] + diag(B' Sigma^-1 B) o d1, where B' Sigma^-1 B = H - H K H.
void LowRank::factor_scale_gradient(ConstMatrixRef inner) {
  const Matrix& h = capacitance_.gram();
  const Matrix& k = capacitance_.inverse();
  auto out = factor_scale_->gradient.col(0);
  for (Index i = 0; i < rank_; ++i) {
    double sum = 0;
    for (Index s = 0; s < inner.cols(); ++s) sum += parts_.weight[s] * inner(i, s) * parts_.z.col(s)[i];
    if (parts_.estimator == Estimator::kEntropy) {
      double quadratic = 0;
      for (Index j = 0; j < rank_; ++j) {
        double kh = 0;
        for (Index l = 0; l < rank_; ++l) kh += k(l, j) * h(l, i);
        quadratic += h(j, i) * kh;
      }
      sum += (h(i, i) - quadratic) * d1_(i);
    }
    out(i) = scale_coordinates_ == ScaleCoordinates::kLog ? sum * d1_(i) : sum;
  }
}

void LowRank::finish_gradient() {
  if (factor_scale_) factor_scale_gradient(inner_sum_.total());
}

void LowRank::gradient(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                       MatrixRef model_gradient) {
  start_gradient(noise, weight, estimator, model_gradient);
  MatrixRef of_factors = factors_ ? factors_->gradient : no_factors_;
  sweep(dimension(), kernel_.workers(), [&](Range r, Index task) {
    const GradientRows rows = compute_gradient_rows(r, task, mutable_panel(of_factors, r));
    std::copy_n(rows.mean.data, r.size(), mean_->gradient.data() + r.begin);
    std::copy_n(rows.residual_scale.data, r.size(), residual_scale_->gradient.data() + r.begin);
  });
  finish_gradient();
}

void LowRank::times_covariance(VectorRef v) { covariance().times(v, v, kernel_); }

Gaussian LowRank::gaussian(const std::vector<Block>& at) const {
  Matrix w(dimension(), rank_);
  if (const Block* factors = find_block(at, BlockKind::kFactors)) w = factors->value;
  if (const Block* scale = find_block(at, BlockKind::kFactorScale)) w *= scales(*scale).asDiagonal();
  return Gaussian::low_rank(find_block(at, BlockKind::kMean)->value, std::move(w),
                            scales(*find_block(at, BlockKind::kResidualScale)).cwiseAbs());
}

}  // namespace magva
