#include "fused_kernel.cuh"

namespace magva_cuda {

namespace {

/// One draw, rows of up to 1,024 bytes. What costs is turning bytes into numbers, not reading them: so a warp takes whole rows, two at
/// a step, and waits for no other warp, and a row stays in registers as numbers between its two products.
constexpr int kRowWarps = 4;
constexpr int kRowBlocks = 3;  // on a multiprocessor: what registers allow
constexpr int kRowsAtOnce = 2;
constexpr int kRowFlushSteps = 512;
constexpr int kLaneBytes = 16;                // that a lane loads together
constexpr int kWarpBytes = 32 * kLaneBytes;   // of a row

/// The columns of one lane: 16 of every 512.
template <int C>
struct LaneColumns {
  __device__ static int column(int c, int lane) { return c * kWarpBytes + lane * kLaneBytes; }

  __device__ LaneColumns(const FusedPass& pass, int lane) {
#pragma unroll
    for (int c = 0; c < C; ++c) {
      mine[c] = column(c, lane) < pass.stride;
#pragma unroll
      for (int g = 0; g < kLaneBytes; ++g) gradient[c][g] = 0;
    }
  }

  bool mine[C];
  float gradient[C][kLaneBytes];
};

/// Coefficients in shared memory, in fours: lanes beside each other read what is beside each other.
template <int C>
struct Coefficients {
  __device__ void fill(const FusedPass& pass) {
    const auto* from = static_cast<const float*>(pass.coefficients);
    for (int k = static_cast<int>(threadIdx.x); k < C * kWarpBytes / 4; k += 32 * kRowWarps) {
      const int column = k * 4;
      const bool there = column < pass.stride;
      four[column / kWarpBytes][column % kLaneBytes / 4][column % kWarpBytes / kLaneBytes] =
          there ? *reinterpret_cast<const float4*>(from + column) : make_float4(0, 0, 0, 0);
    }
    __syncthreads();
  }
  float4 four[C][kLaneBytes / 4][32];
};

__device__ inline void unpack(const uint4& raw, float (&out)[kLaneBytes]) {
  const unsigned words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    Loaded<signed char> word;
    word.raw = static_cast<int>(words[k]);
#pragma unroll
    for (int g = 0; g < 4; ++g) out[4 * k + g] = word.get<float>(g);
  }
}

/// Adds the gradients so far to the warp's sums, in double precision.
template <int C>
__device__ void flush(LaneColumns<C>& columns, double (&sums)[C * kWarpBytes], int lane) {
#pragma unroll
  for (int c = 0; c < C; ++c)
#pragma unroll
    for (int g = 0; g < kLaneBytes; ++g) {
      sums[columns.column(c, lane) + g] += static_cast<double>(columns.gradient[c][g]);
      columns.gradient[c][g] = 0;
    }
}

/// The block's gradient: its warps', in their order.
template <int kColumns>
__device__ void add_up(const FusedPass& pass, const double (&of_warp)[kRowWarps][kColumns]) {
  __syncthreads();
  double* out = pass.gradient + static_cast<std::int64_t>(blockIdx.x) * pass.stride;
  for (int j = static_cast<int>(threadIdx.x); j < pass.stride; j += 32 * kRowWarps) {
    double total = pass.add ? out[j] : 0.;
    for (int k = 0; k < kRowWarps; ++k) total += of_warp[k][j];
    out[j] = total;
  }
}

/// The block's log likelihood and its derivative by log sigma.
__device__ void add_up(const FusedPass& pass, double log_likelihood, double by_log_scale, int warp, int lane) {
  __shared__ double totals[2][kRowWarps][kRowsAtOnce];
  if (lane % 16 == 0) {
    totals[0][warp][lane / 16] = log_likelihood;
    totals[1][warp][lane / 16] = by_log_scale;
  }
  __syncthreads();
  if (threadIdx.x >= 2) return;
  double* out = pass.sums + static_cast<std::int64_t>(blockIdx.x) * 2 + threadIdx.x;
  double total = pass.add ? *out : 0.;
  for (const auto& of_warp : totals[threadIdx.x])
    for (const double part : of_warp) total += part;
  *out = total;
}

template <int C>
__global__ void __launch_bounds__(32 * kRowWarps, kRowBlocks) warp_rows(FusedPass pass) {
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  LaneColumns<C> columns(pass, lane);
  __shared__ Coefficients<C> coefficients;
  coefficients.fill(pass);
  __shared__ double gradients[kRowWarps][C * kWarpBytes];
  for (int j = lane; j < C * kWarpBytes; j += 32) gradients[warp][j] = 0;
  __syncwarp();
  const float precision = *static_cast<const float*>(pass.precision);
  const float log_scale = *static_cast<const float*>(pass.log_scale);
  uint4 next[kRowsAtOnce][C];
  const auto load = [&](std::int64_t first) {
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; ++r)
#pragma unroll
      for (int c = 0; c < C; ++c) {
        const auto* from = static_cast<const signed char*>(pass.design) + (first + r) * pass.stride + columns.column(c, lane);
        next[r][c] = columns.mine[c] && first + r < pass.rows ? __ldcs(reinterpret_cast<const uint4*>(from)) : make_uint4(0, 0, 0, 0);
      }
  };
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kRowWarps * kRowsAtOnce;
  std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kRowWarps + warp) * kRowsAtOnce;
  double log_likelihood = 0;
  double by_log_scale = 0;
  load(first);
  for (int steps = 0; first < pass.rows; first += step) {
    const std::int64_t row = first + lane / 16;
    const bool there = row < pass.rows;
    const float y = there ? static_cast<const float*>(pass.response)[row] : 0.f;
    const float w = there ? (pass.weight ? static_cast<const float*>(pass.weight)[row] : 1.f) : 0.f;
    const float offset = there && pass.offset ? static_cast<const float*>(pass.offset)[row] : 0.f;
    float x[kRowsAtOnce][C][kLaneBytes];
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; ++r)
#pragma unroll
      for (int c = 0; c < C; ++c) unpack(next[r][c], x[r][c]);
    load(first + step);
    float part[kRowsAtOnce][2] = {};
#pragma unroll
    for (int c = 0; c < C; ++c)
#pragma unroll
      for (int k = 0; k < kLaneBytes / 4; ++k) {
        const float4 theta = coefficients.four[c][k][lane];
#pragma unroll
        for (int r = 0; r < kRowsAtOnce; ++r) {
          part[r][0] += x[r][c][4 * k] * theta.x + x[r][c][4 * k + 1] * theta.y;
          part[r][1] += x[r][c][4 * k + 2] * theta.z + x[r][c][4 * k + 3] * theta.w;
        }
      }
    float eta[kRowsAtOnce];
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; ++r) eta[r] = part[r][0] + part[r][1];
    const Point<float> at = point<float>(pass.likelihood, warp_sums<kRowsAtOnce>(eta, lane) + offset, y, precision, log_scale);
    if (there) {
      log_likelihood += static_cast<double>(w) * static_cast<double>(at.value);
      by_log_scale += static_cast<double>(w) * static_cast<double>(at.by_log_scale);
    }
    const float mine = there ? w * at.residual : 0.f;
    const float residual[kRowsAtOnce] = {__shfl_sync(~0u, mine, 0), __shfl_sync(~0u, mine, 16)};
#pragma unroll
    for (int c = 0; c < C; ++c)
#pragma unroll
      for (int g = 0; g < kLaneBytes; ++g)
#pragma unroll
        for (int r = 0; r < kRowsAtOnce; ++r) columns.gradient[c][g] += residual[r] * x[r][c][g];
    if (++steps % kRowFlushSteps == 0) flush(columns, gradients[warp], lane);
  }
  flush(columns, gradients[warp], lane);
  add_up(pass, gradients);
  if (pass.likelihood != MAGVA_CUDA_GAUSSIAN) by_log_scale = 0;
  add_up(pass, log_likelihood, by_log_scale, warp, lane);
}

}  // namespace

FusedPlan plan_warp_rows(std::int64_t stride, const DeviceFacts& device) {
  FusedPlan plan;
  if (stride > 2 * kWarpBytes) return plan;
  plan = {stride <= kWarpBytes ? warp_rows<1> : warp_rows<2>, 1, 32 * kRowWarps, 0, 0};
  plan_blocks(plan, device);
  return plan;
}

MAGVA_FUSED(signed char, float);
MAGVA_FUSED(signed char, double);

}  // namespace magva_cuda
