#pragma once
// Sigma = W W' + diag(d)^2 as a point of the Fisher geometry.
#include "core/low_rank_plus_diagonal.hpp"
#include "refine/covariance.hpp"

namespace magva {

class LowRankCovariance final : public Covariance {
 public:
  /// The workers must outlive this.
  LowRankCovariance(Matrix factors, ConstVectorRef residual_sd, Workers& workers);

  std::unique_ptr<Covariance> clone() const override { return std::make_unique<LowRankCovariance>(*this); }
  Index noise_size() const override { return m() + p(); }
  void draw(PairBatch& batch) const override;
  double log_determinant() const override { return sigma_.log_determinant(); }
  Vector times(ConstVectorRef v) const override;
  CovarianceTangent differential(const PairBatch& batch, PairRange pairs,
                                 const ExpectedCurvature* curvature) const override;
  CovarianceTangent natural_gradient(const CovarianceTangent& differential,
                                     const ExpectedCurvature* curvature) const override;
  void move(const CovarianceTangent& direction, double step) override;
  void scale(double factor) override;
  CovarianceTangent coordinates(const CovarianceTangent* reference) const override;
  bool assign(const CovarianceTangent& coordinates) override;
  Gaussian gaussian(ConstVectorRef mean) const override {
    return Gaussian::low_rank(mean, sigma_.factors(), sigma_.residual());
  }
  const LowRankCovariance* low_rank() const override { return this; }
  void save(io::ChecksummedWriter& out) const override;
  static LowRankCovariance read(io::ChecksummedReader& in, Workers& workers);

  Index m() const { return sigma_.m(); }
  Index p() const { return sigma_.p(); }
  const LowRankPlusDiagonal& matrix() const { return sigma_; }
  const Matrix& factors() const { return sigma_.factors(); }
  const Vector& residual_sd() const { return sigma_.residual(); }
  /// Sigma^-1 v, and the diagonal of Sigma^-1, on all threads.
  Matrix solve(ConstMatrixRef v) const;
  Vector inverse_diagonal() const;
  /// The differential that the Fisher metric makes of a direction.
  CovarianceTangent metric(const CovarianceTangent& direction) const;

 private:
  void set(const Matrix& factors, const Vector& log_residual);
  /// The largest relative change of any variance, |Sigma^-1/2 dSigma Sigma^-1/2|, by power iteration.
  double largest_change(const CovarianceTangent& direction) const;

  std::shared_ptr<TallSkinny> kernel_;  // scratch memory, shared with clones: one of them works at a time
  Vector log_residual_;
  LowRankPlusDiagonal sigma_;
};

}  // namespace magva
