#include "scale/cuda_plugin.hpp"

#include "magva/error.hpp"
#include "scale/cuda_families.hpp"

namespace magva::detail {

namespace {

void set_rows(const DenseRows<double>& rows, magva_cuda_problem& problem) {
  problem.storage = MAGVA_CUDA_FLOAT64;
  problem.data = rows.data;
  problem.stride = rows.stride;
}
void set_rows(const DenseRows<float>& rows, magva_cuda_problem& problem) {
  problem.storage = MAGVA_CUDA_FLOAT32;
  problem.data = rows.data;
  problem.stride = rows.stride;
}
void set_rows(const DenseRows<std::int8_t>& rows, magva_cuda_problem& problem) {
  problem.storage = rows.single ? MAGVA_CUDA_INT8_SINGLE : MAGVA_CUDA_INT8;
  problem.data = rows.data;
  problem.stride = rows.stride;
}
void set_rows(const SparseRows& rows, magva_cuda_problem& problem) {
  problem.storage = MAGVA_CUDA_SPARSE;
  problem.starts = rows.starts;
  problem.columns = rows.columns;
  problem.values = rows.values;
}

}  // namespace

CudaFunctions::CudaFunctions()
    : plugin(
          "libmagva_cuda.so", "MAGVA_CUDA_PLUGIN",
          "magva was installed without its CUDA plug-in libmagva_cuda.so, or cannot load it: build it with "
          "nvcc (docs/scale.md), or fit without --device cuda"),
      create(plugin.find<decltype(magva_cuda_create)>("magva_cuda_create")),
      destroy(plugin.find<decltype(magva_cuda_destroy)>("magva_cuda_destroy")),
      describe(plugin.find<decltype(magva_cuda_describe)>("magva_cuda_describe")),
      evaluate(plugin.find<decltype(magva_cuda_evaluate)>("magva_cuda_evaluate")),
      expect(plugin.find<decltype(magva_cuda_expect)>("magva_cuda_expect")) {
  if (plugin.find<decltype(magva_cuda_interface)>("magva_cuda_interface")() != MAGVA_CUDA_INTERFACE)
    throw UsageError("the CUDA plug-in belongs to another version of magva: build both from one source");
  family_create = plugin.find<decltype(magva_cuda_family_create)>("magva_cuda_family_create");
  family_destroy = plugin.find<decltype(magva_cuda_family_destroy)>("magva_cuda_family_destroy");
  family_write = plugin.find<decltype(magva_cuda_family_write)>("magva_cuda_family_write");
  family_read = plugin.find<decltype(magva_cuda_family_read)>("magva_cuda_family_read");
  family_pass = plugin.find<decltype(magva_cuda_family_pass)>("magva_cuda_family_pass");
  family_own = plugin.find<decltype(magva_cuda_family_own)>("magva_cuda_family_own");
  family_evaluate = plugin.find<decltype(magva_cuda_family_evaluate)>("magva_cuda_family_evaluate");
}

const CudaFunctions& cuda_functions() {
  static const CudaFunctions all;
  return all;
}

RowsOnDevice::RowsOnDevice(const RegressionTerms& terms, const DeviceOptions& options) {
  magva_cuda_problem problem{};
  problem.likelihood = cuda_likelihood(*terms.likelihood);
  problem.device = options.device;
  problem.rows = terms.design.rows();
  problem.cols = terms.design.cols();
  std::visit([&](const auto& rows) { set_rows(rows, problem); }, terms.design.storage());
  problem.response = terms.response->data();
  problem.weight = terms.unweighted ? nullptr : terms.weight->data();
  problem.offset = terms.offset ? terms.offset->data() : nullptr;
  problem.status = terms.status ? terms.status->data() : nullptr;
  problem.rules = cuda_rules();
  problem.memory_limit = options.memory_limit;
  if (const char* failed = cuda_functions().create(&problem, &rows_)) throw UsageError(failed);
}

RowsOnDevice::~RowsOnDevice() { cuda_functions().destroy(rows_); }

std::string RowsOnDevice::description() const { return cuda_functions().describe(rows_); }

void RowsOnDevice::evaluate(const magva_cuda_draws& draws, const magva_cuda_sums& out) const {
  use([&](magva_cuda_rows* rows) { return cuda_functions().evaluate(rows, &draws, &out); });
}

void RowsOnDevice::expect(const magva_cuda_gaussian& q, magva_cuda_expectations& out) const {
  use([&](magva_cuda_rows* rows) { return cuda_functions().expect(rows, &q, &out); });
}

void RowsOnDevice::fail(const char* message) { throw IoError(message); }

}  // namespace magva::detail
