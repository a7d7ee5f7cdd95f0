#pragma once
// A Gaussian's covariance as a point that moves by natural gradient steps: steepest ascent in the Fisher
// metric <X, Y> = tr(Sigma^-1 X Sigma^-1 Y) / 2, which is the same whatever the coordinates, so that no scale
// of any parameter matters. Low rank plus diagonal solves for the step by conjugate gradients in O(m p^2);
// full rank has it in closed form.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "magva/posterior.hpp"
#include "magva/types.hpp"

namespace magva {

/// A direction, or the differential of the ELBO. Low rank: d W and d log(residual sd). Full rank: the
/// symmetric X of d Sigma = R X R', with no scales.
struct Tangent {
  Matrix factors;
  Vector scales;
};
double inner(const Tangent& differential, const Tangent& direction);
Tangent combine(double a, const Tangent& x, double b, const Tangent& y);

/// The draws of one iteration in antithetic pairs mu +- delta, and the model's gradients at them.
struct PairBatch {
  Matrix noise;      ///< a column a pair
  Matrix deviation;  ///< delta
  Matrix solved;     ///< Sigma^-1 delta
  Matrix odd;        ///< half the difference of the two gradients
  Matrix even;       ///< half their sum
  Index pairs() const { return noise.cols(); }
};

class Covariance {
 public:
  virtual ~Covariance() = default;
  virtual std::unique_ptr<Covariance> clone() const = 0;

  virtual Index noise_size() const = 0;
  /// Fills deviation and solved from noise.
  virtual void draw(PairBatch& batch) const = 0;
  virtual double log_determinant() const = 0;
  /// Turns a gradient for the mean into its step.
  virtual Vector mean_step(ConstVectorRef gradient) const = 0;

  /// The step that would be right where the curvature is as low as it may be: it gains what is left to gain.
  virtual Vector longest_mean_step(ConstVectorRef gradient) const { return mean_step(gradient); }

  /// Decides how the differential is estimated from this batch.
  virtual void prepare(const PairBatch& /*batch*/) {}
  /// The ELBO's differential as estimated from the pairs [first, first + count) of the batch.
  virtual Tangent differential(const PairBatch& batch, Index first, Index count) const = 0;
  /// The same without the blocks between the directions in which the curvature is known and all others: these
  /// are nearly zero, and most of the noise where m is large. Nothing where no curvature is known.
  virtual std::optional<Tangent> block_differential(const PairBatch& /*batch*/, Index /*first*/,
                                                    Index /*count*/) const {
    return std::nullopt;
  }
  virtual Tangent natural(const Tangent& differential) const = 0;
  /// Moves along a natural direction, at most as far as the Gaussian it came from can be trusted.
  virtual void move(const Tangent& direction, double step) = 0;
  /// Sigma <- factor^2 Sigma.
  virtual void scale(double factor) = 0;
  /// Learns from a batch what will lower the noise of later ones.
  virtual void learn(const PairBatch& /*batch*/) {}
  /// Puts to use, now and then, what was learned and is costly to use.
  virtual void renew() {}
  /// Whether m is too large for a dense curvature, so that a sketch is wanted now and then.
  virtual bool sketches() const { return false; }
  /// Learns the expected curvature E[-Hessian] from products with it, two independent estimates of each.
  /// `first`: two gradients with something of all directions in which it is large.
  virtual void sketch(const std::function<Matrix(ConstVectorRef)>& /*curvature_times*/,
                      ConstMatrixRef /*first*/) {}

  /// Another place, in coordinates, that by what was learned is better by at least `gain` nats: the family's
  /// ELBO may have several tops.
  virtual std::optional<Tangent> alternative(double /*gain*/) const { return std::nullopt; }

  /// Coordinates in which points near each other can be averaged and extrapolated; `reference` fixes what is
  /// arbitrary in them.
  virtual Tangent coordinates(const Tangent* reference) const = 0;
  /// False, and no change, where the coordinates are those of no covariance.
  virtual bool assign(const Tangent& coordinates) = 0;

  virtual Gaussian gaussian(ConstVectorRef mean) const = 0;
  /// All that a resumed run needs, in a fixed order.
  virtual std::vector<Matrix*> state() = 0;
  /// To be called after the state was changed from outside.
  virtual void refresh() = 0;
};

/// Sigma = R R' from a positive definite precision.
std::unique_ptr<Covariance> make_full_rank(ConstMatrixRef precision);
/// Sigma = W W' + diag(residual_sd)^2. A curvature, where there is one, makes the mean's steps Newton steps
/// and is the first control variate; it must be positive definite.
std::unique_ptr<Covariance> make_low_rank(Matrix factors, ConstVectorRef residual_sd,
                                          std::optional<Matrix> curvature);

}  // namespace magva
