#pragma once
// Likelihoods in the terms of the CUDA plug-in.
#include <optional>
#include <vector>

#include "magva/expectations.hpp"
#include "magva_cuda.h"
#include "models/likelihood.hpp"

namespace magva::detail {

/// The plug-in's number of a likelihood. Throws UsageError if it has none.
int cuda_likelihood(const Likelihood& likelihood);

/// What the plug-in needs of a likelihood's own coordinates, MAGVA_CUDA_OWN_VALUES values.
void cuda_own_values(int kind, const Shape& shape, double* values);

/// A quadrature rule for the own coordinate; of a likelihood that has none, one node. Nothing if the
/// coordinate varies so much that there is no rule.
std::optional<std::vector<magva_cuda_own_node>> cuda_own_nodes(int kind, const Likelihood& likelihood,
                                                               const NormalMarginal& own);

/// Rules for normal predictors.
magva_cuda_rules cuda_rules();

}  // namespace magva::detail
