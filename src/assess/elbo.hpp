#pragma once
// The ELBO with its standard error, from draws that the fit has not seen.
#include "core/evaluator.hpp"
#include "magva/posterior.hpp"

namespace magva {

struct ElboEstimate {
  double elbo = 0;     ///< mean of the log weights of the draws that could be evaluated
  double se = 0;       ///< its standard error
  Vector log_weights;  ///< log h(theta) - log q(theta), -infinity for a draw that was rejected
  Index rejected = 0;
};

ElboEstimate estimate_elbo(Evaluator& evaluator, const Gaussian& q, Index draws, std::uint64_t seed);

}  // namespace magva
