#pragma once
// The CUDA plug-in's functions, and rows that are in its hands.
#include <mutex>
#include <string>

#include "magva/device.hpp"
#include "magva_cuda.h"
#include "models/regression_terms.hpp"
#include "scale/plugin.hpp"

namespace magva::detail {

struct CudaFunctions {
  CudaFunctions();

  Plugin plugin;
  decltype(magva_cuda_create)* create;
  decltype(magva_cuda_destroy)* destroy;
  decltype(magva_cuda_describe)* describe;
  decltype(magva_cuda_evaluate)* evaluate;
  decltype(magva_cuda_expect)* expect;
  decltype(magva_cuda_family_create)* family_create;
  decltype(magva_cuda_family_destroy)* family_destroy;
  decltype(magva_cuda_family_write)* family_write;
  decltype(magva_cuda_family_read)* family_read;
  decltype(magva_cuda_family_pass)* family_pass;
  decltype(magva_cuda_family_own)* family_own;
  decltype(magva_cuda_family_evaluate)* family_evaluate;
};

/// Loaded when it is first asked for. Throws UsageError if there is no plug-in, or one of another version.
const CudaFunctions& cuda_functions();

class RowsOnDevice {
 public:
  RowsOnDevice(const RegressionTerms& terms, const DeviceOptions& options);
  ~RowsOnDevice();
  RowsOnDevice(const RowsOnDevice&) = delete;
  RowsOnDevice& operator=(const RowsOnDevice&) = delete;

  std::string description() const;
  void evaluate(const magva_cuda_draws& draws, const magva_cuda_sums& out) const;
  void expect(const magva_cuda_gaussian& q, magva_cuda_expectations& out) const;
  /// Calls work(rows), which gives a sentence if it fails, while nobody else uses them.
  template <class Work>
  void use(const Work& work) const {
    const std::lock_guard lock(mutex_);
    if (const char* failed = work(rows_)) fail(failed);
  }

 private:
  [[noreturn]] static void fail(const char* message);

  magva_cuda_rows* rows_ = nullptr;
  mutable std::mutex mutex_;  // they have one set of buffers
};

}  // namespace magva::detail
