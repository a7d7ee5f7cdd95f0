#pragma once
// SLANG (Mishkin, Kunstner, Nielsen, Schmidt & Khan 2018): a Gaussian whose precision is low rank plus
// diagonal, moved by natural gradients that are made of per-example gradients. Here for logistic regression
// with a Gaussian prior, as the baseline of the paper's second experiment. An iteration costs O(m (p + M)^2)
// for M examples.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/low_rank_plus_diagonal.hpp"
#include "magva/types.hpp"

namespace magva {

/// N(mean, (U U' + diag(d))^-1), d > 0. Nothing of size m x m is formed.
class LowRankPrecision {
 public:
  LowRankPrecision(Vector mean, Matrix factors, ConstVectorRef diagonal);
  void set_mean(Vector mean) { mean_ = std::move(mean); }

  const Vector& mean() const { return mean_; }
  const Matrix& factors() const { return precision_.factors(); }
  Vector diagonal() const { return precision_.residual().cwiseAbs2(); }
  /// Sigma v.
  Vector times_covariance(ConstVectorRef v) const { return precision_.solve(v); }
  /// mean + Sigma^(1/2) e for each column e of standard normals.
  Matrix from_noise(ConstMatrixRef noise) const;
  Matrix draws(Index count, std::uint64_t seed) const;
  double entropy() const;

 private:
  Vector mean_;
  LowRankPlusDiagonal precision_;
};

/// What stands for an example's curvature: both are rank one.
enum class SlangCurvature {
  kEmpiricalFisher,  ///< g_i g_i', as published
  kGaussNewton,      ///< p_i (1 - p_i) x_i x_i', which for logistic regression is the Hessian itself
};

struct SlangOptions {
  Index rank = 4;
  Index batch = 32;            ///< examples in a step; all of them where there are fewer
  double mean_step = .1;       ///< alpha
  double precision_step = .5;  ///< beta
  double decay = .51;          ///< both steps are multiplied by (1 + t)^-decay
  double prior_variance = 10;
  double initial_precision = 1;  ///< of every coefficient
  SlangCurvature curvature = SlangCurvature::kEmpiricalFisher;
  std::int64_t iterations = 5000;
  std::uint64_t seed = 1;

  std::vector<std::string> validate() const;
};

/// The top `rank` part U U' of C C', as U = C V with V the leading right singular vectors, computed exactly
/// from the smaller of the two Gram matrices (the published algorithm draws it at random).
Matrix leading_part(const Matrix& columns, Index rank);

class Slang {
 public:
  /// Rows of `design` are examples, its first column is the intercept's; responses are 0 or 1.
  Slang(RowMatrix design, Vector response, const SlangOptions& options);

  void step();
  /// The rows that step t uses.
  std::vector<Index> batch(std::int64_t t) const;
  /// The standard normals that step t draws theta with.
  Vector noise(std::int64_t t) const;
  const LowRankPrecision& posterior() const { return posterior_; }
  std::int64_t iteration() const { return iteration_; }

 private:
  RowMatrix design_;
  Vector response_;
  SlangOptions options_;
  LowRankPrecision posterior_;
  std::int64_t iteration_ = 0;
};

}  // namespace magva
