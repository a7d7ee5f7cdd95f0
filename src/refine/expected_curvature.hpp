#pragma once
// What a refinement knows of the expected curvature A = E[-Hessian] under its Gaussian: a control variate for
// the ELBO's differential, and the metric of Newton steps.
#include <memory>
#include <optional>

#include "core/control.hpp"
#include "refine/low_rank_covariance.hpp"

namespace magva {

class ExpectedCurvature {
 public:
  virtual ~ExpectedCurvature() = default;
  virtual std::unique_ptr<ExpectedCurvature> clone() const = 0;
  virtual Index dimension() const = 0;

  /// Looks at a batch: is A near enough to the truth to be of use?
  virtual void prepare(const PairBatch& batch, const LowRankCovariance& sigma) = 0;
  /// Whether, for that batch, it leaves less noise than Sigma^-1 in its place.
  bool in_use() const { return in_use_; }
  /// Whether it is far off.
  bool stale() const { return stale_; }

  /// A x and the diagonal of A.
  virtual Matrix times(ConstMatrixRef x, const LowRankCovariance& sigma) const = 0;
  virtual Vector diagonal(const LowRankCovariance& sigma) const = 0;
  /// Adds what A may be at most, times x: steps that assume it do not overshoot.
  virtual void add_bound_times(ConstMatrixRef x, const LowRankCovariance& sigma, Matrix& to) const = 0;

  /// Turns a gradient for the mean into its step.
  virtual Vector mean_step(ConstVectorRef gradient, const LowRankCovariance& sigma) const = 0;
  /// The step that would be right where A is as low as it may be: it gains what is left to gain.
  virtual Vector longest_mean_step(ConstVectorRef gradient, const LowRankCovariance& sigma) const {
    return mean_step(gradient, sigma);
  }

  /// Learns from a batch what will lower the noise of later ones.
  virtual void learn(const PairBatch& /*batch*/) {}
  /// Puts to use, now and then, what was learned and is costly to use.
  virtual void renew(const LowRankCovariance& /*sigma*/) {}
  /// Other factors that by what was learned are better by at least `gain` nats: the family's ELBO may have
  /// several local maxima. The control, where there is one, is polled.
  virtual std::optional<CovarianceTangent> alternative(const LowRankCovariance& /*sigma*/, double /*gain*/,
                                                       Control* /*control*/) const {
    return std::nullopt;
  }

  /// For a checkpoint; read_curvature() gives it back to the bit.
  virtual void save(io::ChecksummedWriter& out) const = 0;

 protected:
  /// Compares what A leaves of the gradients' half-differences with what Sigma^-1 leaves; the squared size of
  /// the former, in the metric of Sigma.
  double compare(const PairBatch& batch, const LowRankCovariance& sigma);

  /// Which kind it is, and what all kinds have.
  enum class Saved { kDense, kSketched };
  void save_head(io::ChecksummedWriter& out, Saved kind) const;

 private:
  friend std::unique_ptr<ExpectedCurvature> read_curvature(io::ChecksummedReader& in, Workers& workers);
  bool in_use_ = false;
  bool stale_ = false;
};

/// What save() wrote.
std::unique_ptr<ExpectedCurvature> read_curvature(io::ChecksummedReader& in, Workers& workers);
std::unique_ptr<ExpectedCurvature> read_dense_curvature(io::ChecksummedReader& in);

/// A dense A that starts from a positive definite curvature and learns from every batch.
std::unique_ptr<ExpectedCurvature> make_dense_curvature(Matrix curvature);

}  // namespace magva
