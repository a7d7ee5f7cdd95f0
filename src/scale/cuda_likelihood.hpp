#pragma once
// The sums over a regression's rows on a GPU.
#include <memory>
#include <string>

#include "magva/device.hpp"
#include "models/regression_terms.hpp"
#include "models/row_sample.hpp"

namespace magva::detail {

struct CudaLikelihood {
  std::unique_ptr<const SampledModel> model;  ///< in the coordinates of make_likelihood_model
  std::string description;
};

/// Throws what on_device throws.
CudaLikelihood make_cuda_likelihood(const RegressionTerms& terms, const DeviceOptions& options);

}  // namespace magva::detail
