#pragma once
// Short chains of Hamiltonian Monte Carlo (Neal 2011) that begin at draws of an approximation. Where that is
// the posterior they stay in it, and so do their means and sds; where it misses a part of the posterior they
// move there. Importance weights say no such thing where m is large: small differences add up, and a few
// draws have all of the weight.
#include <cstdint>
#include <optional>

#include "core/evaluator.hpp"
#include "core/noise.hpp"
#include "magva/fit.hpp"

namespace magva {

/// Of draws, one entry for each of some quantities, and standard errors.
struct ChainMoments {
  Vector mean, sd;
  Vector mean_se, log_sd_se;
  Vector memory;  ///< correlation of a chain's own mean with the draw at which it began
};

/// Many chains side by side, in the metric of one Gaussian: its covariance is the inverse of their mass
/// matrix. Between trajectories they jump to draws of the approximation (a Metropolised independence sampler;
/// Tierney 1994), if that is near enough for some to be accepted: a scale and the effects that it governs
/// change together then, which takes trajectories long.
class ShortChains {
 public:
  /// One chain begins at each column of `start`, but for those whose log density is not finite.
  ShortChains(Evaluator& evaluator, Gaussian metric, const Posterior& approximation, Matrix start,
              std::uint64_t seed);

  Index count() const { return theta_.cols(); }
  /// Gradients that one iteration of all takes.
  std::int64_t gradients() const { return count() * (steps() + jumps_); }

  /// Finds the length of a step, and forgets the start. False where proposals are rejected however short the
  /// steps are.
  bool settle();

  const Gaussian& metric() const { return metric_; }
  /// Goes on in another metric, and settles there.
  bool go_on_in(Gaussian metric);

  struct Draws {
    ChainMoments coordinates, quantities;
    /// Draws, one a column, chain by chain: of all iterations, or of every so many if m is large.
    Matrix kept;
    Index chains;
  };
  /// So many further iterations. Moments of quantities are empty where there are none. Where too few
  /// trajectories are accepted, as where chains have come to narrower places than those where they began, the
  /// next ones have shorter steps.
  Draws run(int iterations, const Quantities* quantities);

 private:
  /// One trajectory of each. The mean probability of being accepted.
  double move();
  /// So many draws of the approximation are proposed to each. The mean probability of being accepted.
  double jump(int times);
  int steps() const;

  Evaluator& evaluator_;
  Gaussian metric_;
  const Posterior& approximation_;
  std::uint64_t seed_;
  Noise noise_;
  std::uint64_t iteration_ = 0;
  std::uint32_t proposed_ = 0;  // draws of the approximation
  int jumps_ = 0;               // in each iteration
  double step_;                 // the longest, in sds
  Matrix start_;
  Matrix theta_, gradient_;
  Vector log_density_;
};

/// Iterations before the first that counts.
int settling_iterations();
/// Gradients of one iteration of a chain, about.
std::int64_t usual_chain_gradients(Index dimension);

}  // namespace magva
