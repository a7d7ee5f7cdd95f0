#pragma once
// theta = mu + B (d1 o z) + d2 o epsilon: mean-field, VAFC, Stiefel, Grassmann and fixed rank are one family
// with different manifolds for B, and d1 learned or fixed at 1. Only p x p systems are solved; with W =
// D2^-2, H = B'WB, C = I + D1 H D1 and K = D1 C^-1 D1 the Woodbury identity reads Sigma^-1 = W - W B K B' W.
#include "core/low_rank_plus_diagonal.hpp"
#include "family/family.hpp"

namespace magva {

class LowRank final : public Family, private RowwiseFamily {
 public:
  LowRank(const FamilyOptions& options, Index dimension, Index max_draws, std::uint64_t seed,
          Workers& workers);

  Index noise_size() const override { return rank_ + dimension(); }
  void prepare() override;
  void draw(ConstMatrixRef noise, MatrixRef phi) override;
  void prepare_and_draw(ConstMatrixRef noise, MatrixRef phi) override;
  double entropy() const override;
  void gradient(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                MatrixRef model_gradient) override;
  RowwiseFamily* by_rows() override { return rank_ > 0 ? this : nullptr; }
  void times_covariance(VectorRef v) override;
  using Family::gaussian;
  Gaussian gaussian(const std::vector<Block>& at) const override;

  // The p x p part alone, for passes over the rows that are made elsewhere.
  /// d1 o z at the current d1, p x draws.
  const Matrix& start_draw_elsewhere(ConstMatrixRef noise);
  /// From sum log |d2| and B'WB, p x p.
  void finish_draw_elsewhere(double log_sum, ConstMatrixRef weighted_gram);
  /// The gradient of d1, if there is one, from B'g, p x draws.
  void finish_gradient_elsewhere(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                                 ConstMatrixRef inner);
  const Capacitance& capacitance() const { return capacitance_; }

 private:
  /// m x 0 if there are none.
  const Matrix& factors() const { return factors_ ? factors_->value : no_factors_; }
  Vector scales(const Block& block) const;
  /// dev is B (d1 o z) + d2 o epsilon; adds Sigma^-1 dev to the model's gradients.
  void add_path_term(ConstMatrixRef noise, MatrixRef model_gradient);
  /// d2 as numbers, whatever its coordinates; those of logarithms are computed by prepare().
  Eigen::Map<const Vector> residual_sds() const {
    const Matrix& plain = residual_scale_->value;
    return {d2_.size() > 0 ? d2_.data() : plain.data(), plain.rows()};
  }
  /// At the blocks that prepare() has seen.
  LowRankPlusDiagonalView covariance() const { return {factors(), d1_, residual_sds(), capacitance_}; }
  void add_blocks(const FamilyOptions& options, Index dimension, std::uint64_t seed);
  void load_scales(const Block& block, Range rows, Vector& out) const;
  void scale_noise(ConstMatrixRef noise);
  void start_covariance();
  void prepare_panel(Range rows, Index task);
  void finish_covariance();
  void draw_panel(Range rows);
  void prefetch_factors(Range rows, Index task);
  void set_draws(ConstMatrixRef noise, MatrixRef phi);

  void start_gradient(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                      MatrixRef model_gradient) override;
  GradientRows compute_gradient_rows(Range rows, Index task, const MutablePanel& of_factors) override;
  void finish_gradient() override;
  void start_draw(ConstMatrixRef noise, MatrixRef phi) override;
  void draw_rows(Range rows, Index task) override;
  void finish_draw() override { finish_covariance(); }
  void factor_scale_gradient(ConstMatrixRef inner);
  /// Adds log |C| / 2 to the residuals' part of log |Sigma| / 2.
  void factorize(ConstMatrixRef weighted_gram);

  /// What the gradient in hand is made of, one column per draw.
  struct GradientParts {
    Panel z, epsilon, model;
    const double* weight = nullptr;
    Estimator estimator = Estimator::kEntropy;
  };

  /// The draws in hand, a column each.
  struct DrawParts {
    Panel epsilon;
    MutablePanel phi;
  };

  Index rank_;
  ScaleCoordinates scale_coordinates_;
  Block* mean_ = nullptr;
  Block* residual_scale_ = nullptr;
  Block* factors_ = nullptr;       ///< null if p = 0
  Block* factor_scale_ = nullptr;  ///< null if d1 is fixed at 1
  TallSkinny kernel_;
  Vector d1_, d2_;        ///< scales as numbers; d2 where its coordinates are logarithms
  Matrix weights_;        ///< W = 1/d2^2 for a panel, one column per task
  Matrix gradient_rows_;  ///< a panel of the gradients of mu and d2, one column per task
  Capacitance capacitance_;
  double half_log_det_ = 0;
  Vector log_sums_;                       ///< of |d2|, one per task
  GramSum weighted_, inner_sum_;          ///< B'WB and B'g
  Matrix scaled_noise_, weighted_noise_;  ///< p x draws
  Vector column_;
  Matrix no_factors_;  ///< m x 0
  GradientParts parts_;
  DrawParts draws_;
};

}  // namespace magva
