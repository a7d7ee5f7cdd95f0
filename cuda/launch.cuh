#pragma once
// What kernels have in common that work through arrays of any length.
#include <algorithm>
#include <cstdint>

namespace magva_cuda {

inline constexpr int kBlock = 256;

inline int blocks_for(std::int64_t count, int each = kBlock) {
  return static_cast<int>(std::min<std::int64_t>((count + each - 1) / each, 1 << 20));
}

__device__ inline std::int64_t thread_index() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline std::int64_t thread_count() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }
__device__ inline double warp_sum(double value) {
  for (int bit = 16; bit > 0; bit /= 2) value += __shfl_xor_sync(~0u, value, bit);
  return value;
}

}  // namespace magva_cuda
