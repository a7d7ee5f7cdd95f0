#pragma once
#include "core/evaluator.hpp"
#include "magva/diagnostics.hpp"

namespace magva {

/// For callers that have an evaluator already.
TailReport probe_tails(Evaluator& evaluator, const Gaussian& q);

}  // namespace magva
