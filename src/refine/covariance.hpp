#pragma once
// A Gaussian's covariance as a point that moves by natural gradient steps: steepest ascent in the Fisher
// metric <X, Y> = tr(Sigma^-1 X Sigma^-1 Y) / 2, which is the same whatever the coordinates, so that no scale
// of any parameter matters. Low rank plus diagonal solves for the step by conjugate gradients in O(m p^2);
// full rank has it in closed form.
#include <memory>

#include "core/checksummed_file.hpp"
#include "magva/posterior.hpp"
#include "magva/workers.hpp"

namespace magva {

class ExpectedCurvature;
class HessianPattern;
class LowRankCovariance;

/// A direction, the differential of the ELBO, or coordinates. Low rank: those of W and log(residual sd). Full
/// rank: the symmetric X of d Sigma = R X R', with no scales. Sparse precision: its entries; beside a
/// differential, as scales, the direction that it gives.
struct CovarianceTangent {
  Matrix factors;
  Vector scales;
};
double inner(const CovarianceTangent& differential, const CovarianceTangent& direction);
CovarianceTangent combine(double a, const CovarianceTangent& x, double b, const CovarianceTangent& y);

/// The draws of one iteration in antithetic pairs mu +- delta, one column per pair, and the model's
/// gradients.
struct PairBatch {
  Matrix noise;
  Matrix deviation;              ///< delta
  Matrix precision_times_delta;  ///< Sigma^-1 delta; full rank: the noise itself
  Matrix half_difference;        ///< of the two gradients of a pair
  Matrix pair_mean;              ///< of the two gradients
  Matrix curvature;              ///< sparse precision: mean of the two -Hessians, at the pattern's entries
  Index pairs() const { return noise.cols(); }
};

/// Some pairs of a batch.
struct PairRange {
  Index first;
  Index count;
};

class Covariance {
 public:
  virtual ~Covariance() = default;
  virtual std::unique_ptr<Covariance> clone() const = 0;

  virtual Index noise_size() const = 0;
  /// Fills deviation and precision_times_delta from noise.
  virtual void draw(PairBatch& batch) const = 0;
  virtual double log_determinant() const = 0;
  /// Sigma v: the mean's natural gradient.
  virtual Vector times(ConstVectorRef v) const = 0;

  /// The ELBO's differential as estimated from some pairs; a curvature, where there is one, lowers its noise.
  virtual CovarianceTangent differential(const PairBatch& batch, PairRange pairs,
                                         const ExpectedCurvature* curvature) const = 0;
  /// The direction of steepest ascent; a curvature, where there is one, keeps it from overshooting.
  virtual CovarianceTangent natural_gradient(const CovarianceTangent& differential,
                                             const ExpectedCurvature* curvature) const = 0;
  /// Moves along a natural gradient, at most as far as the Gaussian it came from can be trusted.
  virtual void move(const CovarianceTangent& direction, double step) = 0;
  /// Sigma <- factor^2 Sigma.
  virtual void scale(double factor) = 0;

  /// Coordinates in which points near each other can be averaged and extrapolated; `reference` fixes what is
  /// arbitrary in them.
  virtual CovarianceTangent coordinates(const CovarianceTangent* reference) const = 0;
  /// False, and no change, where the coordinates are those of no covariance.
  virtual bool assign(const CovarianceTangent& coordinates) = 0;

  virtual Gaussian gaussian(ConstVectorRef mean) const = 0;
  /// KL divergence from another Gaussian of this kind, whose mean is `shift` away; may be that of two
  /// Gaussians near each other.
  virtual double divergence_from(const Covariance& other, ConstVectorRef shift) const {
    return kl_divergence(gaussian(shift), other.gaussian(Vector::Zero(shift.size())));
  }
  /// For a checkpoint; read_covariance() gives it back to the bit.
  virtual void save(io::ChecksummedWriter& out) const = 0;
  /// This, where it is low rank plus diagonal.
  virtual const LowRankCovariance* low_rank() const { return nullptr; }
  /// The Hessian's pattern, where differentials are by Hessians, and then the sds of the coordinates:
  /// conditional ones, and marginal ones to within a factor of two or so.
  virtual const HessianPattern* pattern() const { return nullptr; }
  virtual Vector conditional_sd() const { return {}; }
  virtual Vector rough_sd() const { return {}; }
};

/// Largest relative change of a variance, or change of its logarithm, in one step.
inline constexpr double kLargestScaleStep = 1;

/// Sigma = R R' from a positive definite precision.
std::unique_ptr<Covariance> make_full_rank(ConstMatrixRef precision);
/// Sigma = W W' + diag(residual_sd)^2. The workers must outlive it.
std::unique_ptr<Covariance> make_low_rank(Matrix factors, ConstVectorRef residual_sd, Workers& workers);

/// What save() wrote.
std::unique_ptr<Covariance> read_covariance(io::ChecksummedReader& in, Workers& workers);
std::unique_ptr<Covariance> read_full_rank(io::ChecksummedReader& in);
std::unique_ptr<Covariance> read_sparse_precision(io::ChecksummedReader& in);
/// What a saved covariance begins with.
enum class SavedCovariance { kLowRank, kFullRank, kSparsePrecision };

}  // namespace magva
