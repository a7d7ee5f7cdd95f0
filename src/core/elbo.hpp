#pragma once
// The ELBO from fresh draws, for callers that have an evaluator already.
#include "core/evaluator.hpp"
#include "magva/diagnostics.hpp"

namespace magva {

/// Where the evaluator's fit must end on the way: from the draws that were evaluated until then.
ElboEstimate estimate_elbo(Evaluator& evaluator, const Gaussian& q, Index draws, std::uint64_t seed);

/// Adds draws to an estimate with this seed, up to so many.
void extend_estimate(Evaluator& evaluator, const Gaussian& q, Index draws, std::uint64_t seed,
                     ElboEstimate& estimate);

/// Columns [first, first + count) of the draws by which an ELBO is estimated.
Matrix elbo_draws(const Gaussian& q, std::uint64_t seed, Index first, Index count, Workers& workers);
/// How many of them to have at a time.
Index elbo_block(const Gaussian& q);

}  // namespace magva
