#pragma once
// Algorithm 1's Gaussian on a device: blocks, rules' memories, noise and draws are beside the model's rows,
// and an iteration moves nothing of their length. Blocks, parts and passes are those of magva_cuda.h.
#include <memory>
#include <optional>
#include <string>

#include "algorithm1/options.hpp"
#include "magva_cuda.h"

namespace magva {

class DeviceFamily {
 public:
  virtual ~DeviceFamily() = default;

  virtual void write(int block, int part, const double* from) = 0;
  virtual void read(int block, int part, double* to) = 0;
  virtual void pass(int pass, std::int64_t iteration, const double* given, double* sums) = 0;
  /// Log densities at the draws, whose gradients stay on the device; `finite` is 0 where a gradient is
  /// finite.
  virtual void evaluate(VectorRef log_density, VectorRef finite) = 0;
};

/// What a model implements that can have a family beside its rows.
class FamilyHost {
 public:
  virtual ~FamilyHost() = default;
  /// Null if it cannot. The priors in `options` are filled in here.
  virtual std::unique_ptr<DeviceFamily> make_device_family(magva_cuda_family_options options) const = 0;
  /// Why this model keeps the family on the processor, in a sentence; nothing if it does not.
  virtual std::optional<std::string> family_stays() const = 0;
};

/// Why the family of these options is none for a device, in a sentence; nothing if it is one.
std::optional<std::string> family_stays(const FitterOptions& options);
/// What a device needs to know of them. Whitening and priors are left out.
magva_cuda_family_options device_options(const FitterOptions& options, Index dimension);

}  // namespace magva
