#pragma once
// A design on the device: whole if it fits, else a part at a time, copied over while the part before it is worked on.
#include <functional>
#include <string>

#include "device.cuh"
#include "kernels.cuh"
#include "magva_cuda.h"

namespace magva_cuda {

enum class Stored { float64, float32, int8, sparse };

/// Rows of a dense design in the device's memory.
struct RowsInMemory {
  const void* data;
  std::int64_t first, count;
};

class DesignOnDevice {
 public:
  /// Throws Failure, with what is needed and what is there, if the device has not the memory.
  DesignOnDevice(const magva_cuda_problem& problem, cudaStream_t stream);
  ~DesignOnDevice();

  Stored stored() const { return stored_; }
  bool streamed() const { return streamed_; }
  bool sparse() const { return stored_ == Stored::sparse; }
  std::int64_t rows() const { return rows_; }
  std::int64_t cols() const { return cols_; }
  /// Entries from one row to the next; the last ones, which fill up, are 0.
  std::int64_t stride() const { return stride_; }
  std::int64_t bytes() const { return bytes_; }
  const SparseOnDevice& by_rows() const { return by_rows_; }
  const SparseOnDevice& by_columns() const { return by_columns_; }

  /// Some rows of a dense design, one after another; `rows` is there on the host and on the device.
  void gather(const std::int64_t* rows, const std::int64_t* on_device, std::int64_t count, Buffer<unsigned char>& to, cudaStream_t stream);
  /// Calls use(rows) for parts that are in memory, in order; what it launches goes to `stream`.
  void for_each_part(cudaStream_t stream, const std::function<void(const RowsInMemory&)>& use);

 private:
  void place_dense(const magva_cuda_problem& problem, std::int64_t available, cudaStream_t stream);
  void place_sparse(const magva_cuda_problem& problem, std::int64_t available);
  template <class From>
  bool place_as_int8(const magva_cuda_problem& problem, cudaStream_t stream);
  void prepare_streaming(const magva_cuda_problem& problem, std::int64_t available);
  void copy_rows(std::int64_t first, std::int64_t count, void* to, cudaStream_t stream) const;

  Stored stored_;
  bool streamed_ = false;
  std::int64_t rows_, cols_, stride_ = 0, bytes_ = 0;
  Buffer<unsigned char> resident_;

  // Of a streamed design, and while one is placed.
  const unsigned char* host_ = nullptr;
  std::int64_t host_stride_ = 0;
  std::int64_t element_ = 0;  // bytes
  bool registered_ = false;
  std::int64_t part_rows_ = 0;
  Buffer<unsigned char> parts_[2];
  HostBuffer<unsigned char> staged_;  // rows that were chosen
  cudaStream_t copies_ = nullptr;
  cudaEvent_t copied_[2] = {nullptr, nullptr};
  cudaEvent_t used_[2] = {nullptr, nullptr};

  Buffer<std::int64_t> starts_[2];
  Buffer<std::int32_t> indices_[2];
  Buffer<double> values_[2];
  SparseOnDevice by_rows_{}, by_columns_{};
};

}  // namespace magva_cuda
