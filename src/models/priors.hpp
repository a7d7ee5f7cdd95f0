#pragma once
// The priors behind make_prior. Their options have been checked.
#include "models/prior.hpp"

namespace magva::detail {

std::shared_ptr<const CoefficientPrior> normal_prior(const NormalPriorOptions& options, Index coefficients);
std::shared_ptr<const CoefficientPrior> centred_horseshoe(const HorseshoeOptions& options,
                                                          Index coefficients);
std::shared_ptr<const CoefficientPrior> noncentred_horseshoe(const HorseshoeOptions& options,
                                                             Index coefficients);
std::shared_ptr<const CoefficientPrior> autoregressive_prior(const AutoregressivePriorOptions& options,
                                                             Index coefficients);

}  // namespace magva::detail
