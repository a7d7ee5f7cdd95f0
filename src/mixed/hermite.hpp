#pragma once
// Gauss-Hermite rules for expectations under a standard normal distribution.
#include <vector>

#include "magva/types.hpp"

namespace magva::mixed {

/// Points in `dimension` dimensions, one per column, and the logarithms of weight * exp(|point|^2 / 2): what
/// a density is multiplied by after it was shifted and scaled to look standard normal, but for its constant
/// (2 pi)^(-dimension / 2).
struct HermiteRule {
  Matrix points;
  Vector log_weights;
  Index size() const { return log_weights.size(); }
};

/// The product rule with so many points along each axis (Golub & Welsch 1969).
HermiteRule hermite_rule(Index points, Index dimension);

/// How near a rule should come to the integral.
enum class Accuracy {
  gradient,  ///< log integrals to about 1e-6 each and less: differences of close values count
  value,     ///< to about 1e-4 each
};

/// Rules with more points for effects that linear predictors vary more with: log densities are analytic up to
/// a distance of pi and less from the real line, and a rule converges as fast as a Gaussian is narrow beside
/// that.
class HermiteRules {
 public:
  explicit HermiteRules(Index dimension);
  /// `spread`: the sd of the linear predictors under the Gaussian that the rule is shifted and scaled to.
  const HermiteRule& for_spread(double spread, Accuracy accuracy) const;
  const HermiteRule& finest() const { return rules_.back(); }
  Index most_points() const { return finest().size(); }
  /// As many as a moderate spread takes.
  Index usual_points() const { return rules_[rules_.size() / 2].size(); }

 private:
  std::vector<HermiteRule> rules_;
  std::vector<double> value_, gradient_;  // spreads up to which each but the last is used
};

}  // namespace magva::mixed
