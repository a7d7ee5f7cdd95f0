#pragma once
#include <string>
#include <string_view>
#include <vector>

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

  std::vector<std::string> problems(std::string_view field) const;
};

/// The paper's settings for a rule, and the usual ones for Adam.
RuleOptions rule_defaults(RuleKind kind);
const char* name(RuleKind kind);
/// The kind called `text`; UsageError naming all kinds where there is none.
RuleKind parse_rule(std::string_view text);

}  // namespace magva
