#pragma once
// Expected log priors: the normal's is closed, the centred horseshoe's up to one-dimensional integrals.
#include <memory>

#include "magva/expectations.hpp"
#include "models/prior.hpp"

namespace magva::detail {

std::shared_ptr<const ExpectedPrior> expected_normal_prior(double variance, Index coefficients);
std::shared_ptr<const ExpectedPrior> expected_centred_horseshoe(const HorseshoeOptions& options,
                                                                Index coefficients);

}  // namespace magva::detail
