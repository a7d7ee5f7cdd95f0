#pragma once
// Draws nearer to the posterior than the Gaussian's own: importance resampling without replacement, so that
// no draw comes twice, refused where the weights rest on too few of them.
#include "assess/elbo.hpp"

namespace magva {

/// `count` distinct draws out of a larger pool, with probabilities from Pareto smoothed weights. Throws
/// DataError where k-hat is above .7, or where distinct draws cannot have these weights.
Matrix importance_resample(Evaluator& evaluator, const Gaussian& q, Index count, std::uint64_t seed);

}  // namespace magva
