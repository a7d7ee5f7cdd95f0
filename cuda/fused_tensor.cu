// Up to eight draws of rows of up to 1024 columns by tensor cores. They multiply numbers of 11 bits: a factor is cut into two of these, and
// three products of four are formed, which leaves errors as those of single precision.
#include <cuda_pipeline.h>

#include "fused_kernel.cuh"

namespace magva_cuda {

namespace {

constexpr int kTensorWarps = 16;
constexpr int kTensorThreads = 32 * kTensorWarps;
constexpr int kTensorRows = 16;  // a step
constexpr int kTensorDraws = 8;
constexpr int kChunks = 4;  // of 16 columns, that a warp takes
constexpr int kSlice = 16 * kChunks;
constexpr int kTensorColumns = kTensorWarps * kSlice;
constexpr int kStages = 3;  // steps whose rows are in shared memory: one is worked on, two are on their way

struct Split {
  float high, low;
};
__device__ Split split(float value) {
  const float high = __uint_as_float(__float_as_uint(value) & 0xffffe000u);
  return {high, value - high};
}

/// d += a b, of 16 x 8 and 8 x 8 numbers.
__device__ void multiply_add(float (&d)[4], const float (&a)[4], const float (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  const auto bits = [](float x) { return __float_as_uint(x); };
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(bits(a[0])), "r"(bits(a[1])), "r"(bits(a[2])), "r"(bits(a[3])), "r"(bits(b[0])), "r"(bits(b[1])));
#endif
}

/// Words from a row to the next in shared memory: all slices have room, and rows begin at different banks.
template <class Store>
inline constexpr int kRowWords = kTensorColumns * static_cast<int>(sizeof(Store)) / 4 + 8;
template <class Store>
inline constexpr int kSharedWords = kStages * kTensorRows * kRowWords<Store>;

/// Four neighbours, and one entry, of a row in shared memory.
__device__ float4 four(const int* row, int column, float) { return *reinterpret_cast<const float4*>(row + column); }
__device__ float4 four(const int* row, int column, signed char) {
  Loaded<signed char> x;
  x.raw = row[column / 4];
  return make_float4(x.get<float>(0), x.get<float>(1), x.get<float>(2), x.get<float>(3));
}
__device__ float one(const int* row, int column, float) { return __int_as_float(row[column]); }
__device__ float one(const int* row, int column, signed char) {
  Loaded<signed char> x;
  x.raw = row[column / 4];
  return x.get<float>(column % 4);
}

/// A warp's part: 64 columns. In terms of the instruction, lane l has group l / 4 and place l % 4.
template <class Store>
class TensorSlice {
 public:
  __device__ explicit TensorSlice(const FusedPass& pass) : add_(pass.add) {
    const auto* coefficients = static_cast<const float*>(pass.coefficients);
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int column = first_column(c) + 4 * place() + e;
        const Split theta = split(column < pass.stride ? coefficients[group() * pass.stride + column] : 0.f);
        high_[c][e / 2][e % 2] = theta.high;
        low_[c][e / 2][e % 2] = theta.low;
        gradient_[c][e] = 0;
      }
  }

  /// The slice's part of the predictors of 16 rows and 8 draws. Column 4 p + 2 j + e of a chunk is the j-th product's p-th (e = 0) or
  /// p + 4th (e = 1): a sum has no order.
  __device__ void predict(const int* tile, int words, float* partial) const {
    float sums[3][4] = {};
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const float4 upper = four(tile + group() * words, first_column(c) + 4 * place(), Store());
      const float4 lower = four(tile + (group() + 8) * words, first_column(c) + 4 * place(), Store());
      multiply(sums, upper.x, lower.x, upper.y, lower.y, high_[c][0], low_[c][0]);
      multiply(sums, upper.z, lower.z, upper.w, lower.w, high_[c][1], low_[c][1]);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e)
      partial[(group() + 8 * (e / 2)) * kTensorDraws + 2 * place() + e % 2] = sums[0][e] + (sums[1][e] + sums[2][e]);
  }

  /// gradient += rows' residual.
  __device__ void accumulate(const int* tile, int words, const float* residual) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = 8 * half + place();
      const Split r0 = split(residual[row * kTensorDraws + group()]);
      const Split r1 = split(residual[(row + 4) * kTensorDraws + group()]);
      const float high[2] = {r0.high, r1.high};
      const float low[2] = {r0.low, r1.low};
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int column = first_column(c) + group();
        const int* x0 = tile + row * words;
        const int* x1 = x0 + 4 * words;
        multiply(gradient_[c], one(x0, column, Store()), one(x0, column + 8, Store()), one(x1, column, Store()),
                 one(x1, column + 8, Store()), high, low);
      }
    }
  }

  /// To the sums of the block, in double precision.
  __device__ void flush(const FusedPass& pass) {
    double* out = pass.gradient + static_cast<std::int64_t>(blockIdx.x) * kTensorDraws * pass.stride;
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int column = first_column(c) + group() + 8 * (e / 2);
        if (column >= pass.stride) continue;
        double& to = out[(2 * place() + e % 2) * pass.stride + column];
        to = (add_ ? to : 0.) + static_cast<double>(gradient_[c][e]);
        gradient_[c][e] = 0;
      }
    add_ = true;
  }

 private:
  static constexpr bool kExact = sizeof(Store) == 1;  // a byte is one such number

  __device__ static int group() { return (threadIdx.x & 31) >> 2; }
  __device__ static int place() { return threadIdx.x & 3; }
  __device__ static int first_column(int chunk) { return static_cast<int>(threadIdx.x >> 5) * kSlice + 16 * chunk; }

  __device__ static void multiply(float (&sum)[4], float x0, float x1, float x2, float x3, const float (&high)[2], const float (&low)[2]) {
    const Split a[4] = {split(x0), split(x1), split(x2), split(x3)};
    const float upper[4] = {a[0].high, a[1].high, a[2].high, a[3].high};
    multiply_add(sum, upper, high);
    multiply_add(sum, upper, low);
    if constexpr (!kExact) {
      const float rest[4] = {a[0].low, a[1].low, a[2].low, a[3].low};
      multiply_add(sum, rest, high);
    }
  }
  /// The same with sums of their own for the three products, which need not wait for each other.
  __device__ static void multiply(float (&sums)[3][4], float x0, float x1, float x2, float x3, const float (&high)[2],
                                  const float (&low)[2]) {
    const Split a[4] = {split(x0), split(x1), split(x2), split(x3)};
    const float upper[4] = {a[0].high, a[1].high, a[2].high, a[3].high};
    multiply_add(sums[0], upper, high);
    multiply_add(sums[1], upper, low);
    if constexpr (!kExact) {
      const float rest[4] = {a[0].low, a[1].low, a[2].low, a[3].low};
      multiply_add(sums[2], rest, high);
    }
  }

  float high_[kChunks][2][2];
  float low_[kChunks][2][2];
  float gradient_[kChunks][4];
  bool add_;
};

template <class Store>
__global__ void __launch_bounds__(kTensorThreads, 1) fused_tensor(FusedPass pass) {
  extern __shared__ int4 memory[];
  __shared__ float partial[kTensorWarps][kTensorRows * kTensorDraws];
  __shared__ float residual[kTensorRows * kTensorDraws];
  __shared__ double totals[2][kTensorRows * kTensorDraws];
  auto* tiles = reinterpret_cast<int*>(memory);
  const int warp = static_cast<int>(threadIdx.x >> 5);
  constexpr int words = kRowWords<Store>;
  const std::int64_t row_bytes = pass.stride * static_cast<std::int64_t>(sizeof(Store));
  // Slices reach beyond the ends of rows: what is there counts for nothing, but must be a number.
  for (int at = static_cast<int>(threadIdx.x); at < kSharedWords<Store>; at += kTensorThreads) tiles[at] = 0;
  __syncthreads();
  TensorSlice<Store> slice(pass);
  ThreadRow<float, kTensorDraws, kTensorRows> own(pass);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kTensorRows;
  // Each warp fetches one row; those beyond the last are zeros.
  const auto issue = [&](std::int64_t first, int stage) {
    const char* from = static_cast<const char*>(pass.design) + (first + warp) * row_bytes;
    char* to = reinterpret_cast<char*>(tiles + (stage * kTensorRows + warp) * words);
    for (int at = static_cast<int>(threadIdx.x & 31) * 16; at < row_bytes; at += 32 * 16) {
      if (first + warp < pass.rows)
        __pipeline_memcpy_async(to + at, from + at, 16);
      else
        *reinterpret_cast<int4*>(to + at) = make_int4(0, 0, 0, 0);
    }
    __pipeline_commit();
  };
  std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTensorRows;
  for (int k = 0; k < kStages - 1; ++k) issue(first + k * step, k);
  int stage = 0;
  for (int steps = 0; first < pass.rows; first += step) {
    own.fetch(pass, first);
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    issue(first + (kStages - 1) * step, (stage + kStages - 1) % kStages);
    const int* tile = tiles + stage * kTensorRows * words;
    slice.predict(tile, words, partial[warp]);
    __syncthreads();
    own.evaluate(pass, partial, residual);
    __syncthreads();
    slice.accumulate(tile, words, residual);
    if (++steps % kFlushSteps == 0) slice.flush(pass);
    stage = (stage + 1) % kStages;
  }
  __pipeline_wait_prior(0);
  slice.flush(pass);
  own.finish(pass, totals);
}

}  // namespace

template <class Store>
FusedPlan plan_tensor(std::int64_t stride, std::int64_t draws, const DeviceFacts& device) {
  FusedPlan plan;
  constexpr int bytes = kSharedWords<Store> * 4;
  int most = 0;
  check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.device), "to describe itself");
  cudaFuncAttributes kernel{};
  if (draws < 2 || stride > kTensorColumns || device.capability < 80) return plan;
  check(cudaFuncGetAttributes(&kernel, fused_tensor<Store>), "to plan a kernel");
  if (bytes + static_cast<int>(kernel.sharedSizeBytes) > most) return plan;
  plan = {fused_tensor<Store>, kTensorDraws, kTensorThreads, bytes, 0};
  plan_blocks(plan, device);
  return plan;
}
template FusedPlan plan_tensor<float>(std::int64_t, std::int64_t, const DeviceFacts&);
template FusedPlan plan_tensor<signed char>(std::int64_t, std::int64_t, const DeviceFacts&);

void plan_blocks(FusedPlan& plan, const DeviceFacts& device) {
  const auto shared = static_cast<std::size_t>(plan.shared_bytes);
  if (shared > 0) check(cudaFuncSetAttribute(plan.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.shared_bytes), "to plan a kernel");
  int each = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, plan.kernel, plan.threads, shared), "to plan a kernel");
  plan.blocks = each * device.multiprocessors;
}

void launch_fused(const FusedPlan& plan, const FusedPass& pass, cudaStream_t stream) {
  plan.kernel<<<plan.blocks, plan.threads, static_cast<std::size_t>(plan.shared_bytes), stream>>>(pass);
  check_launch("to evaluate rows");
}

}  // namespace magva_cuda
