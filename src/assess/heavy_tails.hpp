#pragma once
// Means and sds of a posterior whose tails are heavier than any Gaussian's: what they come to decides whether
// the tails matter.
#include <cstdint>
#include <optional>
#include <vector>

#include "assess/marginals.hpp"
#include "core/evaluator.hpp"

namespace magva {

/// How far the posterior's means and sds are from the Gaussian's, for every coordinate, by an importance
/// sample that goes as far out as a Cauchy distribution does. Nothing where its weights decide nothing, as
/// with many parameters.
std::optional<std::vector<MarginalError>> heavy_tailed_errors(Evaluator& evaluator, const Gaussian& q,
                                                              std::uint64_t seed);

}  // namespace magva
