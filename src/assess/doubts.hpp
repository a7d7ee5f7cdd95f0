#pragma once
// Parameters whose mean or sd is not what the approximation says, in words.
#include <string>
#include <vector>

#include "assess/assess.hpp"
#include "assess/marginals.hpp"

namespace magva {

/// Beyond this, an sd twice too small, a fit is of no use.
inline constexpr double kUselessDoubt = .69;
/// What to do about a parameter in doubt: where importance weights can correct the draws, and where not.
inline constexpr const char* kCorrectByWeights =
    "importance weights can correct this (--correct), or sample this model by MCMC";
inline constexpr const char* kSampleByMcmc = "sample this model by MCMC";

/// Of one parameter; false where it is named already.
bool add_doubt(Doubt doubt, Assessment& out);

/// The larger of its shift, in sds, and of the logarithm of its ratio.
double size_of(const Doubt& doubt);

std::string describe(const std::vector<Doubt>& doubts);

/// The line alone says too much about means, and about sds unless there is a long tail. What may be noise is
/// none.
bool in_doubt(const MarginalError& error);

}  // namespace magva
