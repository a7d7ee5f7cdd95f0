#pragma once
// The blocks of Algorithm 1's Gaussian on the device, and the passes over their rows (magva_cuda.h).
#include "family_kernels.cuh"
#include "family_rows.h"
#include "rows.cuh"

namespace magva_cuda {

class FamilyOnDevice {
 public:
  FamilyOnDevice(Rows& rows, const magva_cuda_family_options& options);

  void write(int block, int part, const double* from);
  void read(int block, int part, double* to);
  void pass(int pass, std::int64_t iteration, const double* given, double* sums);
  void own(double* to);
  void evaluate(const double* own_values, const double* own_slopes, double* log_density, double* finite);

 private:
  struct Part {
    double* data;
    std::int64_t count;
  };
  Part part(int block, int part);
  FamilyBlock make_block(int block, const magva_cuda_rule& rule, std::int64_t cols);
  /// Small matrices to the device.
  const double* upload(const double* given, std::int64_t count);

  // Passes, by what they are about: draws, gradients and steps (family_draws.cu, family_steps.cu), copies.
  void draw(std::int64_t iteration, const double* given);
  void path_inner();
  void path_add(const double* given);
  void gradient(const double* given);
  void direct(const double* given);
  void measure_step();
  void combine(const double* given);
  void add_tangent(const double* given);
  void gram();
  void multiply(const double* given);
  void drop();
  void average(double share);
  void remember();
  void keep_good();

  Rows& rows_;
  cudaStream_t stream_;
  FamilyRows f_{};
  PriorRows prior_{};
  bool averages_;
  Buffer<double> blocks_memory_[3][6];
  Buffer<double> direction_, sd_, epsilon_, theta_, gradient_, whitening_, prior_values_;
  Buffer<double> given_;
  HostBuffer<double> staged_;
  RowSums sums_;
};

}  // namespace magva_cuda
