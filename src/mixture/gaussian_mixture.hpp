#pragma once
// A posterior as a mixture of Gaussians: one for each of some values of the hyper-parameters.
#include <memory>
#include <vector>

#include "magva/posterior.hpp"

namespace magva {

class GaussianMixture final : public Posterior {
 public:
  /// Of one dimension; positive weights, which are normalised.
  GaussianMixture(std::vector<Gaussian> components, Vector weights);

  const char* shape() const override { return "mixture"; }
  Index dimension() const override { return mean_.size(); }
  const Vector& mean() const override { return mean_; }
  Vector sd() const override { return sd_; }
  Vector covariance_row(Index i) const override;
  Matrix quantiles(ConstVectorRef probabilities) const override;
  Matrix draws(Index count, std::uint64_t seed, std::uint32_t first = 0) const override;
  Matrix antithetic_draws(Index pairs, std::uint64_t seed) const override;
  Vector log_density(ConstMatrixRef theta) const override;
  std::shared_ptr<const Posterior> rescaled(ConstVectorRef centre, ConstVectorRef scale) const override;
  /// What each component adds to the density, as logarithms: one row for each point, one column for each
  /// component; and the logarithms of their sums.
  Matrix log_parts(ConstMatrixRef theta) const;
  static Vector log_sum(const Matrix& log_parts);

  const std::vector<Gaussian>& components() const { return components_; }
  const Vector& weights() const { return weights_; }

  void write(io::ChecksummedWriter& out) const;
  /// DataError if its parts do not fit each other.
  static std::shared_ptr<const GaussianMixture> read(io::ChecksummedReader& in, Index dimension);

 private:
  /// Which component each draw is of, and how far from that one's mean.
  struct Deviations {
    std::vector<Index> component;
    Matrix of_theta;
  };
  Deviations deviations(Index count, std::uint64_t seed, std::uint32_t first) const;
  Matrix centres(const std::vector<Index>& component) const;
  double quantile(Index coordinate, double probability) const;

  std::vector<Gaussian> components_;
  Vector weights_;
  Matrix means_, sds_;  // of the components, one column each
  Vector mean_, sd_;
};

}  // namespace magva
