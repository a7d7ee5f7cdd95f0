#include "assess/heavy_tails.hpp"

#include "assess/far_sample.hpp"

namespace magva {

namespace {

/// Fewer effective draws do not tell: an sd of heavy tails needs more of them than one of light tails.
constexpr double kFewestHeavyTailDraws = 400;

}  // namespace

// Tails like a power make standard errors too small to be of use: none are taken off.
std::optional<std::vector<MarginalError>> heavy_tailed_errors(Evaluator& evaluator, const Gaussian& q,
                                                              std::uint64_t seed) {
  const auto far = far_reaching_sample(evaluator, q, seed);
  if (!far || far->effective < kFewestHeavyTailDraws) return std::nullopt;
  std::vector<MarginalError> out = errors_by(*far, q);
  for (MarginalError& error : out) error.se = 0;
  return out;
}

}  // namespace magva
