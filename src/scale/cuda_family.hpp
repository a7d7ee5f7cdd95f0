#pragma once
#include <memory>

#include "models/likelihood.hpp"
#include "scale/cuda_plugin.hpp"
#include "scale/device_rows.hpp"

namespace magva::detail {

/// `constant` is added to all log densities.
std::unique_ptr<DeviceFamily> make_cuda_family(std::shared_ptr<const RowsOnDevice> rows,
                                               std::shared_ptr<const Likelihood> likelihood,
                                               magva_cuda_family_options options,
                                               const IndependentPriors& priors, double constant);

}  // namespace magva::detail
