#pragma once
// Which marginals are not the Gaussian's, by name.
#include "assess/assess.hpp"
#include "assess/pareto.hpp"

namespace magva {

/// Log weights with a smaller sd are those of a fit that is close, whatever their tail: its KL divergence,
/// about half the square, is then below an eighth of a nat.
inline constexpr double kCloseSpread = .5;

/// Names them in a warning; drops the correction of q where it is no better than q. True where the posterior
/// is understood: all marginals are known, or an importance sample along one that differs has found its way.
bool assess_marginals(Evaluator& evaluator, const Gaussian& q, const SmoothedWeights& weights,
                      const AssessmentOptions& options, Assessment& out);

}  // namespace magva
