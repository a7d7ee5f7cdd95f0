// The functions of magva_cuda.h: exceptions become sentences.
#include <new>
#include <string>

#include "family.cuh"
#include "rows.cuh"

struct magva_cuda_rows {
  magva_cuda::Rows rows;
};

struct magva_cuda_family {
  magva_cuda::FamilyOnDevice family;
};

namespace {

thread_local std::string last_error;

template <class Work>
const char* guarded(Work&& work) {
  try {
    work();
    return nullptr;
  } catch (const std::bad_alloc&) {
    last_error = "the machine has not enough memory to prepare the design for the GPU";
  } catch (const std::exception& error) {
    last_error = error.what();
  }
  return last_error.c_str();
}

void require_device(int device) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver)
    throw magva_cuda::Failure("there is no NVIDIA driver, or one older than this magva needs: install a driver for CUDA " +
                              std::to_string(CUDART_VERSION / 1000) + ", or fit without --device cuda");
  if (status != cudaSuccess || count == 0)
    throw magva_cuda::Failure(std::string("this machine has no GPU that CUDA can use (") + cudaGetErrorString(status) +
                              "): fit without --device cuda");
  if (device < 0 || device >= count)
    throw magva_cuda::Failure("there is no GPU " + std::to_string(device) + ": this machine has " + std::to_string(count) +
                              ", numbered from 0");
  magva_cuda::check(cudaSetDevice(device), "to be chosen");
  cudaSetDeviceFlags(cudaDeviceScheduleSpin);  // a pass takes less time than a thread takes to wake up
}

}  // namespace

extern "C" {

int32_t magva_cuda_interface(void) { return MAGVA_CUDA_INTERFACE; }

const char* magva_cuda_create(const magva_cuda_problem* problem, magva_cuda_rows** out) {
  return guarded([&] {
    require_device(problem->device);
    *out = new magva_cuda_rows{magva_cuda::Rows(*problem)};
  });
}

void magva_cuda_destroy(magva_cuda_rows* rows) { delete rows; }

const char* magva_cuda_describe(const magva_cuda_rows* rows) { return rows->rows.description().c_str(); }

const char* magva_cuda_evaluate(magva_cuda_rows* rows, const magva_cuda_draws* draws, const magva_cuda_sums* out) {
  return guarded([&] { rows->rows.evaluate(*draws, *out); });
}

const char* magva_cuda_expect(magva_cuda_rows* rows, const magva_cuda_gaussian* q, magva_cuda_expectations* out) {
  return guarded([&] { rows->rows.expect(*q, *out); });
}

const char* magva_cuda_family_create(magva_cuda_rows* rows, const magva_cuda_family_options* options, magva_cuda_family** out) {
  return guarded([&] { *out = new magva_cuda_family{magva_cuda::FamilyOnDevice(rows->rows, *options)}; });
}

void magva_cuda_family_destroy(magva_cuda_family* family) { delete family; }

const char* magva_cuda_family_write(magva_cuda_family* family, int32_t block, int32_t part, const double* from) {
  return guarded([&] { family->family.write(block, part, from); });
}

const char* magva_cuda_family_read(magva_cuda_family* family, int32_t block, int32_t part, double* to) {
  return guarded([&] { family->family.read(block, part, to); });
}

const char* magva_cuda_family_pass(magva_cuda_family* family, int32_t pass, int64_t iteration, const double* given, double* sums) {
  return guarded([&] { family->family.pass(pass, iteration, given, sums); });
}

const char* magva_cuda_family_own(magva_cuda_family* family, double* own) {
  return guarded([&] { family->family.own(own); });
}

const char* magva_cuda_family_evaluate(magva_cuda_family* family, const double* own_values, const double* own_slopes, double* log_density,
                                       double* finite) {
  return guarded([&] { family->family.evaluate(own_values, own_slopes, log_density, finite); });
}

}  // extern "C"
