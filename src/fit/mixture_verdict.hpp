#pragma once
// What the importance weights of a mixture's own draws say of it.
#include <optional>

#include "assess/assess.hpp"
#include "core/evaluator.hpp"
#include "mixture/gaussian_mixture.hpp"
#include "mixture/hyper_weights.hpp"

namespace magva {

struct AssessedMixture {
  Assessment assessment;
  bool telling;  ///< the weights themselves say so, not only to second order
  bool decided;  ///< and leave no doubt; short chains would know no more
  /// The parameter that weights change most, if they leave a mean or an sd in doubt.
  std::optional<Index> doubtful;

  bool without_doubt() const { return assessment.trusted && assessment.warnings.empty(); }
};

/// Nothing where the posterior is not near the mixture. `entries`: of a component's precision; `hyper`: if it
/// is not null, weights of the hyper-parameters alone, in place of those of whole draws.
std::optional<AssessedMixture> assess_mixture(Evaluator& evaluator, const GaussianMixture& mixture,
                                              Index entries, HyperWeights* hyper, const FitOptions& options);

}  // namespace magva
