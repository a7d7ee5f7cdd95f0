#pragma once
// Log likelihoods and gradients of a few draws in one pass over a dense design: a row is read once and stays in registers between the
// product with the coefficients and the product with the residual.
#include <cstdint>

#include "device.cuh"

namespace magva_cuda {

inline constexpr int kThreads = 256;
inline constexpr int kWarps = kThreads / 32;
inline constexpr int kMostDraws = 8;
/// Columns that one thread takes at once: their coefficients and gradients stay in its registers.
inline constexpr int kMostGroups = 8;

/// Entries of a row that a thread loads together.
template <class Store>
inline constexpr int kGroup = sizeof(Store) == 8 ? 2 : 4;

struct FusedPass {
  int likelihood;
  std::int64_t rows;
  std::int64_t stride;      // of the design, a multiple of 16 bytes; the entries that fill up a row are 0
  const void* design;
  const void* response;     // in the precision of the arithmetic, as are all that follow
  const void* weight;       // null: 1 each
  const void* offset;       // null: none
  const void* coefficients; // of each draw `stride`
  const void* precision;
  const void* log_scale;
  double* gradient;         // of each block and draw `stride`
  double* sums;             // of each block and draw 2: log likelihood, and its derivative by log sigma
  bool add;                 // to what gradient and sums hold, instead of writing over it
};

struct DeviceFacts {
  int device;
  int multiprocessors;
  int capability;  // 90 for 9.0
};

struct FusedPlan {
  void (*kernel)(FusedPass) = nullptr;
  int places = 0;  // draws that it takes, 1, 4 or 8
  int threads = 0;
  int shared_bytes = 0;
  int blocks = 0;  // by the device and the shape alone
};

/// Draws that one pass can take, 1, 4 or 8; 0: rows are too long for it.
template <class Store, class Real>
int fused_draws(std::int64_t stride);
/// For the next of so many draws.
template <class Store, class Real>
FusedPlan plan_fused(std::int64_t stride, std::int64_t draws, const DeviceFacts& device);
/// The kernel that has tensor cores do the products, in single precision; null where it does not apply.
template <class Store>
FusedPlan plan_tensor(std::int64_t stride, std::int64_t draws, const DeviceFacts& device);
/// The kernel for one draw over int8 rows, in single precision; null where rows are too long for it.
FusedPlan plan_warp_rows(std::int64_t stride, const DeviceFacts& device);
/// As many blocks as fit the device at a time.
void plan_blocks(FusedPlan& plan, const DeviceFacts& device);
void launch_fused(const FusedPlan& plan, const FusedPass& pass, cudaStream_t stream);

/// Adds up the blocks' gradients and sums in the order of the blocks: out[s * columns + j] and out_sums[2 s ..], if
/// there are sums.
void launch_reduce(const double* gradient, const double* sums, int blocks, int draws, std::int64_t stride, std::int64_t columns,
                   double* out, double* out_sums, cudaStream_t stream);

}  // namespace magva_cuda
