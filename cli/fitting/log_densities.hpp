#pragma once
#include "magva/model.hpp"

namespace magva::fitting {

/// The model's log density at each column of theta; not finite where it cannot be evaluated.
Vector log_densities(const Model& model, ConstMatrixRef theta, int threads);

}  // namespace magva::fitting
