#pragma once
// The options of the paper's Algorithm 1: a family of Gaussians, an update rule for each block of its
// parameters, and how gradients are estimated. The defaults are the paper's choices.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "magva/types.hpp"

namespace magva {

/// The update rules. Those of the paper are as printed; the `guarded` ones differ by a floor under their
/// denominators; the `stable` ones keep non-negative accumulators.
enum class RuleKind {
  kBasic,
  kMomentum,
  kRmsprop,
  kAdadelta,
  kRmspropGuarded,
  kAdadeltaGuarded,
  kRmspropStable,
  kAdadeltaStable,
  kAdam,
};

struct RuleOptions {
  RuleKind kind = RuleKind::kAdadeltaStable;
  double step = .05;      ///< alpha: the learning rate (AdaDelta has none)
  double decay = .95;     ///< beta: the memory of momentum and of the squared gradients
  double epsilon = 1e-6;  ///< keeps denominators away from zero
  double momentum = .9;   ///< Adam's memory of the gradient
  /// In RMSProp and AdaDelta as printed, projection lets the accumulators change sign and their quotients
  /// have poles. The magnitude of the denominator is kept at or above guard * sqrt(1 - beta) |g|, which the
  /// Euclidean rule satisfies by construction. 0, the rule exactly as printed; 1 in the guarded kinds'
  /// defaults.
  double guard = 0;

  /// Every fault, each as 'field.member is value and must be rule'.
  std::vector<std::string> validate(std::string_view field) const;
};

/// The paper's settings for a rule, and the usual ones for Adam.
RuleOptions rule_defaults(RuleKind kind);
const char* name(RuleKind kind);
/// The kind called `text`; UsageError naming all kinds where there is none.
RuleKind parse_rule(std::string_view text);

/// The covariance's form, and the manifold of its factors where it is low rank.
enum class FamilyKind { kMeanField, kVafc, kStiefel, kGrassmann, kFixedRank, kFullRank };

const char* name(FamilyKind kind);
FamilyKind parse_family(std::string_view text);

/// How the scales d1 and d2 are stored: themselves, of either sign, as in the paper; or their logarithms.
enum class ScaleCoordinates { kPlain, kLog };

/// Which estimate of the ELBO's gradient is formed from the draws.
enum class Estimator {
  kEntropy,  ///< the paper's: model gradient by the draws, entropy in closed form
  kPath,     ///< path derivative ('sticking the landing', Roeder, Wu & Duvenaud 2017): noise vanishes as q ->
             ///< posterior
};

const char* name(Estimator estimator);
Estimator parse_estimator(std::string_view text);

/// How the steps of all blocks shrink over the run.
enum class StepDecay {
  kConstant,  ///< the paper's
  kCosine,    ///< from 1 to 0 over all iterations
};

/// What stands for a number of factors, or of iterations, that is not given.
inline constexpr Index kAlgorithm1Rank = 4;
inline constexpr std::int64_t kAlgorithm1Iterations = 5000;

struct Algorithm1Options {
  FamilyKind family = FamilyKind::kStiefel;
  ScaleCoordinates scales = ScaleCoordinates::kPlain;
  double initial_factor_scale = 1;    ///< d1, or the size of B's columns where d1 is fixed at 1 and B is free
  double initial_residual_scale = 1;  ///< d2
  RuleOptions factor_rule = rule_defaults(RuleKind::kAdadeltaGuarded);  ///< for B, or the Cholesky factor
  RuleOptions mean_rule = rule_defaults(RuleKind::kAdadeltaStable);     ///< for mu
  RuleOptions scale_rule = rule_defaults(RuleKind::kAdadeltaStable);    ///< for d1 and d2
  Estimator estimator = Estimator::kEntropy;
  bool natural_mean = false;  ///< feed Sigma times the gradient to the mean's rule
  Index draws = 1;            ///< per iteration
  bool antithetic = false;    ///< draws in pairs mu + delta, mu - delta
  StepDecay decay = StepDecay::kConstant;
  double average_last = 0;  ///< the share of all iterations, at the end, over which iterates are averaged
  std::int64_t max_rejected_in_a_row = 100;  ///< iterations without a single finite draw before giving up
};

}  // namespace magva
