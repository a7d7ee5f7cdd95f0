#pragma once
// A posterior of another shape: theta = T(z) with a Gaussian z.
#include "magva/posterior.hpp"
#include "shape/shape_map.hpp"

namespace magva {

class ShapedGaussian final : public Posterior {
 public:
  /// Of the same dimension. Means and covariances are those of many fixed antithetic draws.
  ShapedGaussian(Gaussian base, ShapeMap map);

  const char* shape() const override { return map_.name().c_str(); }
  Index dimension() const override { return base_.dimension(); }
  const Vector& mean() const override { return mean_; }
  Vector sd() const override { return covariance_.diagonal().cwiseSqrt(); }
  Vector covariance_row(Index i) const override;
  Matrix quantiles(ConstVectorRef probabilities) const override;
  Matrix draws(Index count, std::uint64_t seed, std::uint32_t first = 0) const override;
  Matrix antithetic_draws(Index pairs, std::uint64_t seed) const override;
  /// By the map's inverse.
  Vector log_density(ConstMatrixRef theta) const override;
  std::shared_ptr<const Posterior> rescaled(ConstVectorRef centre, ConstVectorRef scale) const override;

  const Gaussian& base() const { return base_; }
  const ShapeMap& map() const { return map_; }

  void write(io::ChecksummedWriter& out) const;
  /// DataError if its parts do not fit each other.
  static std::shared_ptr<const ShapedGaussian> read(io::ChecksummedReader& in, Index dimension);

 private:
  ShapedGaussian(Gaussian base, ShapeMap map, Vector mean, Matrix covariance);
  Matrix map_columns(const Matrix& z) const;
  Matrix summary_draws() const;

  Gaussian base_;
  ShapeMap map_;
  Vector mean_;
  Matrix covariance_;
};

}  // namespace magva
