#pragma once
// Means to second order in the log weights. Where m is large, small differences add up: a few draws have all
// of the weight, and weights say nothing. Cumulants do: those of parameters with sums of many small terms are
// sums of cumulants with each of them.
#include <optional>

#include "assess/assess.hpp"

namespace magva {

/// Of the posterior's mean from the approximation's, in its sds, and the standard error.
struct MeanShift {
  Vector shift, se;
};

/// `elbo`: the mean of the log weights. Nothing where a draw has no finite log density.
std::optional<MeanShift> second_order_shift(Evaluator& evaluator, const Gaussian& q, double elbo,
                                            std::uint64_t seed);

/// Of a sparse precision, which no other check of all its means knows.
void assess_second_order(Evaluator& evaluator, const Gaussian& reported, std::uint64_t seed, Assessment& out);

}  // namespace magva
