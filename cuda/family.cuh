#pragma once
// The blocks of Algorithm 1's Gaussian on the device, and the passes over their rows (magva_cuda.h).
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
  /// Room for so many sums on the host, of which the kernels write some at a time.
  double* start_sums(std::int64_t count);
  /// A' B over all rows, p x k, to the next of the sums.
  template <class Left, class Right>
  void gram(int p, int k, Left a, Right b);
  template <int N, class RowSums>
  void sum_rows(RowSums of_row);
  template <class Work>
  void for_each_row(Work work);
  /// Waits, and hands the sums out.
  void finish(double* sums);

  void draw(std::int64_t iteration, const double* given);
  void gradient(const double* given);
  void direct(const double* given);
  void measure_step();
  void multiply(const double* given);
  void for_each_memory(void (*work)(double*, std::int64_t, cudaStream_t));

  Rows& rows_;
  cudaStream_t stream_;
  int blocks_;  // of kernels that sum
  FamilyRows f_{};
  PriorRows prior_{};
  bool averages_;
  Buffer<double> blocks_memory_[3][6];
  Buffer<double> direction_, sd_, epsilon_, theta_, gradient_, whitening_, prior_values_;
  Buffer<double> given_, partials_;
  HostBuffer<double> staged_, sums_;
  double* next_sum_ = nullptr;
  double* next_partial_ = nullptr;
};

}  // namespace magva_cuda
