#pragma once
// The options of Algorithm 1, with the paper's choices as defaults.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "family/family.hpp"
#include "rule/options.hpp"

namespace magva {

/// How the steps of all blocks shrink over the run.
enum class StepDecay {
  kConstant,  ///< the paper's
  kCosine,    ///< from 1 to 0 over max_iterations
};

struct FitOptions {
  FamilyOptions family;
  RuleOptions factor_rule = rule_defaults(RuleKind::kAdadeltaGuarded);  ///< for B, or the Cholesky factor
  RuleOptions mean_rule = rule_defaults(RuleKind::kAdadeltaStable);     ///< for mu
  RuleOptions scale_rule = rule_defaults(RuleKind::kAdadeltaStable);    ///< for d1 and d2
  Estimator estimator = Estimator::kEntropy;
  bool natural_mean = false;  ///< feed Sigma times the gradient to the mean's rule
  Index draws = 1;            ///< per iteration
  bool antithetic = false;    ///< draws in pairs mu + delta, mu - delta
  StepDecay decay = StepDecay::kConstant;
  double average_last = 0;  ///< the share of max_iterations, at the end, over which iterates are averaged
  std::uint64_t seed = 1;
  int threads = 1;
  std::int64_t max_iterations = 5000;
  double time_limit = std::numeric_limits<double>::infinity();  ///< seconds
  std::int64_t max_rejected_in_a_row = 100;  ///< iterations without a single finite draw before giving up

  /// Every fault at once, each as 'field is value and must be rule'; empty where all is well.
  std::vector<std::string> problems(Index dimension) const;
};

}  // namespace magva
