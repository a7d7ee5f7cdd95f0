#pragma once
// What goes over the rows of a family's blocks: work on each row, and sums over all of them in an order that does not change from run to
// run. Each block of threads sums its rows, and the blocks' sums are added in their order.
#include <algorithm>

#include "device.cuh"
#include "launch.cuh"

namespace magva_cuda {

inline std::size_t bytes_of(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(double); }

inline constexpr int kTileRows = 64;
inline constexpr int kTilePitch = kTileRows + 1;  // columns of a tile begin in different banks
inline constexpr int kBlocksPerMultiprocessor = 2;

// Matrices whose products are summed, by row and column.
struct Columns {
  const double* data;
  std::int64_t rows;
  __device__ double operator()(std::int64_t i, int j) const { return data[j * rows + i]; }
};
/// epsilon / d2
struct OverScale {
  const double *data, *sd;
  std::int64_t rows;
  __device__ double operator()(std::int64_t i, int j) const { return data[j * rows + i] / sd[i]; }
};
/// B / d2^2
struct Weighted {
  const double *data, *sd;
  std::int64_t rows;
  __device__ double operator()(std::int64_t i, int j) const {
    const double inverse = 1 / sd[i];
    return data[j * rows + i] * (inverse * inverse);
  }
};

/// Each block sums its tiles of rows, in order; `partials` has p k values for each block.
template <class Left, class Right>
__global__ void gram_kernel(std::int64_t rows, int p, int k, Left a, Right b, double* partials) {
  extern __shared__ double memory[];
  double* left = memory;
  double* right = left + p * kTilePitch;
  double* sums = right + k * kTilePitch;
  for (int e = threadIdx.x; e < p * k; e += blockDim.x) sums[e] = 0;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTileRows; first < rows;
       first += static_cast<std::int64_t>(gridDim.x) * kTileRows) {
    __syncthreads();
    for (int e = threadIdx.x; e < (p + k) * kTileRows; e += blockDim.x) {
      const int r = e % kTileRows;
      const int j = e / kTileRows;
      const std::int64_t i = first + r;
      left[j * kTilePitch + r] = i >= rows ? 0. : j < p ? a(i, j) : b(i, j - p);  // `right` follows `left`
    }
    __syncthreads();
    for (int e = threadIdx.x; e < p * k; e += blockDim.x) {
      const double* x = left + e % p * kTilePitch;
      const double* y = right + e / p * kTilePitch;
      double sum = 0;
#pragma unroll 8
      for (int r = 0; r < kTileRows; ++r) sum += x[r] * y[r];
      sums[e] += sum;
    }
  }
  __syncthreads();
  for (int e = threadIdx.x; e < p * k; e += blockDim.x) partials[static_cast<std::int64_t>(blockIdx.x) * p * k + e] = sums[e];
}

/// N sums of what of_row(i) returns, an array of so many.
template <int N>
struct RowSum {
  double value[N];
};

template <int N, class OfRow>
__global__ void sum_rows_kernel(std::int64_t rows, OfRow of_row, double* partials) {
  __shared__ double parts[kBlock / 32][N];
  double total[N] = {};
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) {
    const RowSum<N> row = of_row(i);
    for (int n = 0; n < N; ++n) total[n] += row.value[n];
  }
  for (int n = 0; n < N; ++n) {
    total[n] = warp_sum(total[n]);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32][n] = total[n];
  }
  __syncthreads();
  if (threadIdx.x >= N) return;
  double sum = 0;
  for (int warp = 0; warp < kBlock / 32; ++warp) sum += parts[warp][threadIdx.x];
  partials[static_cast<std::int64_t>(blockIdx.x) * N + threadIdx.x] = sum;
}

/// A warp for each sum; the order is that of lanes and blocks.
static __global__ void sum_blocks_kernel(const double* partials, int blocks, int count, double* out) {
  const std::int64_t e = thread_index() / 32;
  const int lane = threadIdx.x & 31;
  if (e >= count) return;
  double sum = 0;
  for (int b = lane; b < blocks; b += 32) sum += partials[static_cast<std::int64_t>(b) * count + e];
  sum = warp_sum(sum);
  if (lane == 0) out[e] = sum;
}

template <class Work>
__global__ void rows_kernel(std::int64_t rows, Work work) {
  for (std::int64_t i = thread_index(); i < rows; i += thread_count()) work(i);
}

template <class Work>
void for_each_row(std::int64_t rows, cudaStream_t stream, Work work) {
  rows_kernel<<<blocks_for(rows), kBlock, 0, stream>>>(rows, work);
  check_launch("to go over blocks");
}

/// Sums that kernels write to the host's memory, some at a time.
class RowSums {
 public:
  RowSums(std::int64_t rows, int multiprocessors, cudaStream_t stream)
      : rows_(rows), blocks_(kBlocksPerMultiprocessor * multiprocessors), stream_(stream) {}

  int blocks() const { return blocks_; }

  /// Room for so many.
  void start(std::int64_t count) {
    next_ = sums_.reserve(count);
    next_partial_ = partials_.reserve(count * blocks_);
  }
  /// The place of the next so many sums, for one who writes them himself.
  double* take(std::int64_t count) {
    next_ += count;
    return next_ - count;
  }
  /// The next sums are those from this one on.
  void go_to(std::int64_t sum) { next_ = sums_.data() + sum; }

  /// A' B over all rows, p x k.
  template <class Left, class Right>
  void add_gram(int p, int k, Left a, Right b) {
    if (p == 0 || k == 0) return;
    const std::size_t shared = bytes_of((p + k) * kTilePitch + p * k);
    const int blocks = static_cast<int>(std::min<std::int64_t>(blocks_, (rows_ + kTileRows - 1) / kTileRows));
    gram_kernel<<<blocks, kBlock, shared, stream_>>>(rows_, p, k, a, b, next_partial_);
    sum_blocks_kernel<<<(p * k * 32 + kBlock - 1) / kBlock, kBlock, 0, stream_>>>(next_partial_, blocks, p * k, take(p * k));
    check_launch("to multiply blocks");
    next_partial_ += static_cast<std::int64_t>(blocks) * p * k;
  }

  template <int N, class OfRow>
  void add_rows(OfRow of_row) {
    const int blocks = static_cast<int>(std::min<std::int64_t>(blocks_, blocks_for(rows_)));
    sum_rows_kernel<N><<<blocks, kBlock, 0, stream_>>>(rows_, of_row, next_partial_);
    sum_blocks_kernel<<<1, 32 * N, 0, stream_>>>(next_partial_, blocks, N, take(N));
    check_launch("to go over blocks");
    next_partial_ += static_cast<std::int64_t>(blocks) * N;
  }

  /// Waits, and hands out all of them up to the last that was written.
  void finish(double* out) {
    check(cudaStreamSynchronize(stream_), "to go over blocks");
    std::copy(sums_.data(), next_, out);
  }

 private:
  std::int64_t rows_;
  int blocks_;
  cudaStream_t stream_;
  Buffer<double> partials_;
  HostBuffer<double> sums_;
  double* next_ = nullptr;
  double* next_partial_ = nullptr;
};

}  // namespace magva_cuda
