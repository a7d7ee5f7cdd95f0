#pragma once
// theta = mu + L z with a dense lower triangular L: the yardstick, and for small m the better choice.
#include "family/family.hpp"

namespace magva {

class FullRank final : public Family {
 public:
  FullRank(const FamilyOptions& options, Index dimension, Index max_draws, Workers& workers);

  Index noise_size() const override { return dimension(); }
  void prepare() override {}
  void draw(ConstMatrixRef noise, MatrixRef phi) override;
  double entropy() const override;
  void gradient(ConstMatrixRef noise, ConstVectorRef weight, Estimator estimator,
                MatrixRef model_gradient) override;
  void times_covariance(VectorRef v) override;
  using Family::gaussian;
  Gaussian gaussian(const std::vector<Block>& at) const override;

 private:
  const Matrix& mu() const { return find_block(blocks_, BlockKind::kMean)->value; }
  const Matrix& root() const { return find_block(blocks_, BlockKind::kCholesky)->value; }

  Matrix work_;
};

}  // namespace magva
