#pragma once
// Sigma = W W' + diag(d)^2 as a point of the Fisher geometry.
#include "refine/covariance.hpp"
#include "refine/sketched_curvature.hpp"

namespace magva {

class LowRankCovariance final : public Covariance {
 public:
  LowRankCovariance(Matrix factors, ConstVectorRef residual_sd, std::optional<Matrix> curvature);

  std::unique_ptr<Covariance> clone() const override { return std::make_unique<LowRankCovariance>(*this); }
  Index noise_size() const override { return m() + p(); }
  double log_determinant() const override { return sigma_.log_determinant(); }
  void draw(PairBatch& batch) const override;
  Vector mean_step(ConstVectorRef gradient) const override;
  Vector longest_mean_step(ConstVectorRef gradient) const override;
  void prepare(const PairBatch& batch) override;
  Tangent differential(const PairBatch& batch, Index first, Index count) const override;
  std::optional<Tangent> block_differential(const PairBatch& batch, Index first, Index count) const override;
  Tangent natural(const Tangent& differential) const override;
  void move(const Tangent& direction, double step) override;
  void scale(double factor) override;
  void learn(const PairBatch& batch) override;
  void renew() override;
  bool sketches() const override;
  void sketch(const Product& curvature_times, ConstMatrixRef first) override {
    sketch_.emplace(sigma_, curvature_times, first);
  }
  std::optional<Tangent> alternative(double gain) const override;
  Tangent coordinates(const Tangent* reference) const override;
  bool assign(const Tangent& coordinates) override;
  Gaussian gaussian(ConstVectorRef mean) const override {
    return Gaussian::low_rank(mean, factors_, sigma_.residual());
  }
  std::vector<Matrix*> state() override {
    return {&factors_, &log_residual_, &control_, &newton_root_, &learned_};
  }
  void refresh() override;

 private:
  Index m() const { return factors_.rows(); }
  Index p() const { return factors_.cols(); }
  const Vector& residual_sd() const { return sigma_.residual(); }
  Matrix solve(ConstMatrixRef v) const { return sigma_.solve(v); }
  Matrix symmetric_control() const { return .5 * (control_ + control_.transpose()); }
  /// g + A delta with the symmetric part of A.
  Matrix controlled_residual(ConstMatrixRef odd, ConstMatrixRef deviation) const;
  /// sym E[residual solved'] as a differential, and Sigma^-1 - A.
  Tangent estimated(const Matrix& residual, const Matrix& solved) const;
  Tangent expected() const;
  double control_memory() const;
  /// The noise of A relative to Sigma^-1, as a spectral norm.
  double control_noise() const;
  double squared_size(const Matrix& gradients) const;
  /// The largest relative change of any variance, |Sigma^-1/2 dSigma Sigma^-1/2|, by power iteration.
  double largest_change(const Tangent& direction) const;
  /// A x, with what is known of A.
  Matrix control_times(ConstMatrixRef x) const;
  Vector control_diagonal() const;
  /// The differential that the Fisher metric makes of a direction.
  Tangent metric(const Tangent& direction) const;

  Matrix factors_;
  Matrix log_residual_;  // one column
  Matrix control_;       // A of the control variate; empty where it is not dense
  bool controlled_ = false;
  bool astray_ = false;  // what is known of A is too far from the last batch
  Matrix newton_root_;   // Cholesky factor of the curvature that preconditions the mean; empty where there is
                         // none
  /// Pairs that the control variate has seen, and the mean square that it leaves of a residual's coordinate.
  Matrix learned_ = Matrix::Zero(2, 1);

  std::optional<SketchedCurvature> sketch_;  // in place of control_ where m is large

  LowRankPlusDiagonal sigma_;
};

}  // namespace magva
