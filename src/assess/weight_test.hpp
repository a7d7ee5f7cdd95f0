#pragma once
// What importance weights of the approximation's own draws make of means and sds, where they tell.
#include "assess/assess.hpp"
#include "assess/pareto.hpp"

namespace magva {

/// Coordinates are reweighted where so many draws are effective: the sd of the log of an sd is then .035, and
/// several times that for the worst of many.
inline constexpr double kReweightingDraws = 400;
/// Whether weighted means and sds are to be believed.
bool telling(const SmoothedWeights& weights);
/// The weights themselves.
Vector exponentials(const Vector& log_weights);

/// Doubts what the weights change: of the quantities that will be read, or of the coordinates.
void assess_weighted_moments(Evaluator& evaluator, const Gaussian& q, const SmoothedWeights& weights,
                             const AssessmentOptions& options, Assessment& out);

}  // namespace magva
