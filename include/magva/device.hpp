#pragma once
// Regressions whose rows are on a GPU.
#include <cstdint>
#include <memory>
#include <string>

#include "magva/regression.hpp"

namespace magva {

struct DeviceOptions {
  int device = 0;                 ///< which of the machine's GPUs
  std::int64_t memory_limit = 0;  ///< bytes of its memory for the design; 0: all that is free
};

struct DeviceModel {
  std::shared_ptr<const Model> model;
  std::string description;  ///< the GPU, and how the design is kept there
};

/// The same model with the sums over its rows, and their expectations, computed by CUDA. The design is kept
/// in the precision that it has, or in int8 if that is exact; draws are evaluated in that precision with sums
/// in double, expectations in double. A design that does not fit the GPU's memory is copied over in every
/// pass.
///
/// Throws UsageError if there is no CUDA plug-in (libmagva_cuda.so, beside the program, where the loader
/// looks or where the environment variable MAGVA_CUDA_PLUGIN says), no driver or no such GPU, not enough
/// memory, or the likelihood is none that runs there.
DeviceModel on_device(const Regression& regression, const DeviceOptions& options = {});

}  // namespace magva
