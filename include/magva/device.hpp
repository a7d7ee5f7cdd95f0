#pragma once
// Regressions whose rows are on a GPU.
#include <cstdint>
#include <memory>
#include <string>

#include "magva/algorithm1.hpp"
#include "magva/regression.hpp"

namespace magva {

struct DeviceOptions {
  int device = 0;                 ///< which of the machine's GPUs
  std::int64_t memory_limit = 0;  ///< bytes of its memory for the design; 0: all that is free
  /// With more parameters, Algorithm 1's Gaussian is kept and updated there, too: a step then moves nothing
  /// of their number over the bus.
  Index family_above = 100'000;
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

/// Why Algorithm 1 with that many factors keeps its Gaussian on the processor though the model is on a GPU
/// and has more parameters than DeviceOptions::family_above, in a sentence; empty if it does not, or the
/// model has fewer.
std::string why_family_stays(const Model& model, const Algorithm1Options& options, Index rank);

}  // namespace magva
