#pragma once
// All other parameters given the hyper-parameters: near a Gaussian, with a precision on the Hessian's
// pattern.
//
// Not the Gaussian at the conditional mode, but the best one, by the same equations as those of a fit: its
// mean is where the expected gradient is zero, its precision is the expected -Hessian. The mass of the
// hyper-parameters' values is then that of the conditional ELBO, and of the spread of its log weights.
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/evaluator.hpp"
#include "magva/posterior.hpp"
#include "mixture/independent_others.hpp"
#include "sparse/hessian_pattern.hpp"

namespace magva {

struct ConditionalGaussian {
  Vector theta;      ///< the hyper-parameters, and the others at their mean
  Vector curvature;  ///< of the log density, on the pattern
  /// Of the others; the identity for the hyper-parameters.
  std::shared_ptr<const FactoredPrecision> precision;
  double elbo;     ///< of the others: of the logarithm of the mass here, a lower bound
  double missing;  ///< what the bound misses: half the variance of the log weights, to second order
  /// By a quadratic through theta, of the log density's largest value: what `elbo` adds to it varies little.
  /// NaN where the others are independent.
  double height;
  Vector hyper_gradient;  ///< of the conditional ELBO, by the hyper-parameters
  /// Of a linear term that would move the others' mode to their mean: it varies little, too.
  Vector tilt;
  /// Where the others are independent: their own means, less the Gaussian's, in its sds, and their sds, as
  /// multiples of these. Empty elsewhere.
  Vector shift, sd_ratio;
};

/// Lengths of differences of gradients, from a Gaussian near the posterior.
Vector conditional_differences(const Gaussian& q);

class ConditionalFit {
 public:
  /// `length`: of a difference of gradients along each coordinate.
  ConditionalFit(Evaluator& evaluator, std::shared_ptr<const HessianPattern> pattern,
                 std::vector<Index> hyper_parameters, Vector length, std::uint64_t seed);

  const std::vector<Index>& hyper_parameters() const { return hyper_; }
  const HessianPattern& pattern() const { return *pattern_; }

  /// The first of all, from a point near its mean. Nothing where the curvature is not that of a maximum.
  std::optional<ConditionalGaussian> first(Vector theta);
  /// Given other values, from a neighbour's mean and precision.
  std::optional<ConditionalGaussian> at(const Vector& values, const ConditionalGaussian& near);

  /// How the others' means follow the hyper-parameters: -P^-1 H_vu, one column for each of these.
  Matrix slopes(const ConditionalGaussian& given) const;
  /// H_vu alone.
  Matrix cross(const Vector& curvature) const;
  /// The largest log densities given hyper-parameters, from points near these.
  Vector heights(const Matrix& theta, const std::vector<const ConditionalGaussian*>& near);
  /// V, of the pattern, without the rows of the hyper-parameters.
  Matrix sums() const;
  bool is_hyper(Index i) const { return is_hyper_[static_cast<std::size_t>(i)]; }
  /// Whether, given the hyper-parameters, the others are independent, and integrals over them have no noise.
  bool has_quadrature() const { return quadrature_.has_value(); }

 private:
  std::optional<Vector> curvature_at(const Vector& theta);
  /// The expected curvature at draws around the mean, less that at the mean, given the hyper-parameters.
  bool learn_excess(const ConditionalGaussian& around);
  /// The share of it, draw by draw, that is no noise.
  double sure_share(const Matrix& excess) const;
  void add_excess(Vector& curvature) const;
  Vector of_others(Vector curvature) const;
  /// Null where it is not positive definite; with as much added to its diagonal as makes it so.
  std::shared_ptr<const FactoredPrecision> precision_of(const Vector& curvature) const;
  std::shared_ptr<const FactoredPrecision> damped_precision_of(Vector curvature) const;
  /// Of the others, away from their mean.
  Matrix moves(const FactoredPrecision& precision, Index pairs) const;
  void clear_hyper(MatrixRef gradients) const;
  struct Heights {
    Vector value;
    Matrix gradient;
  };
  Heights gradients_of_others(const Matrix& theta);
  /// From points at which these are known.
  Vector heights(Matrix theta, Heights here, const std::vector<const ConditionalGaussian*>& near);
  /// To the modes of the others, each with the precision of a neighbour, from points with these gradients.
  /// Those that were further away than a step tells.
  std::vector<Index> climb_together(Matrix& theta, Matrix gradient,
                                    const std::vector<const ConditionalGaussian*>& near);
  /// Moves theta to the mode of the others' tilted density, by steps with a precision that is renewed if they
  /// do not do.
  bool climb(Vector& theta, std::shared_ptr<const FactoredPrecision>& precision, const Vector& tilt);
  /// The best of shorter steps; theta itself where none is higher.
  Vector shorter_step(const Vector& theta, const Vector& step, double value, const Vector& tilt);
  /// The expected gradient at antithetic draws, and the conditional ELBO.
  struct Sample {
    Vector gradient;  // without the hyper-parameters'
    Vector hyper_gradient;
    double elbo, variance;
  };
  std::optional<Sample> sample(const Vector& theta, const FactoredPrecision& precision);
  std::optional<ConditionalGaussian> settle(Vector theta, std::shared_ptr<const FactoredPrecision> precision,
                                            const Vector& tilt);
  /// The Gaussian with this curvature whose mean is where the expected gradient is zero, from near there.
  std::optional<ConditionalGaussian> centred(Vector theta, Vector curvature);
  /// The same for independent others, with these sds at first.
  std::optional<ConditionalGaussian> settle_independent(Vector theta, Vector sd);

  Evaluator& evaluator_;
  std::shared_ptr<const HessianPattern> pattern_;
  std::vector<Index> hyper_;
  std::vector<bool> is_hyper_;
  Vector length_;
  Matrix noise_;      // of the draws, the same for all values of the hyper-parameters
  Vector excess_;     // empty before it is known
  Vector excess_at_;  // the diagonal of the curvature there
  double missing_at_first_ = 0;
  std::optional<OthersQuadrature> quadrature_;  // where the others are independent
};

}  // namespace magva
