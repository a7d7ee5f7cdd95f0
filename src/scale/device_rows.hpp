#pragma once
// Rows on a device that can have Algorithm 1's Gaussian beside them.
#include <memory>

#include "algorithm1/device_family.hpp"
#include "magva/independent_prior.hpp"

namespace magva::detail {

class DeviceRows {
 public:
  virtual ~DeviceRows() = default;
  /// With more parameters than this it pays.
  virtual Index family_above() const = 0;
  /// For coefficients with these priors, whose densities at their locations multiply to exp(prior_constant).
  virtual std::unique_ptr<DeviceFamily> make_family(const magva_cuda_family_options& options,
                                                    const IndependentPriors& priors,
                                                    double prior_constant) const = 0;
};

}  // namespace magva::detail
