#include "few_draws.cuh"

#include "fused_kernel.cuh"
#include "launch.cuh"

namespace magva_cuda {

namespace {

constexpr int kRowsAtOnce = 4;

/// A group of entries of each of kRowsAtOnce rows, `apart` rows from each other; zeros beyond the last.
template <class Store, class Real>
struct RowGroups {
  static constexpr int G = kGroup<Store>;
  Real x[kRowsAtOnce][G];

  __device__ RowGroups(const Store* at, std::int64_t row, std::int64_t end, std::int64_t apart, std::int64_t stride) {
    Loaded<Store> loaded[kRowsAtOnce];
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; ++r)
      if (row + r * apart < end)
        loaded[r].load(at + (row + r * apart) * stride);
      else
        loaded[r].clear();
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; ++r)
#pragma unroll
      for (int g = 0; g < G; ++g) x[r][g] = loaded[r].template get<Real>(g);
  }
};

__device__ void load_group(const float* from, float (&to)[4]) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}
template <int G>
__device__ void load_group(const double* from, double (&to)[G]) {
#pragma unroll
  for (int g = 0; g < G; g += 2) {
    const double2 two = *reinterpret_cast<const double2*>(from + g);
    to[g] = two.x, to[g + 1] = two.y;
  }
}

// A warp: four rows; its lanes take groups of columns in turn.
template <class Store, class Real, int S>
__global__ void predict_few_kernel(const Store* x, std::int64_t rows, std::int64_t stride, const Real* coefficients, int K,
                                   Real* predictors) {
  constexpr int G = kGroup<Store>;
  constexpr int kSums = kRowsAtOnce * S;
  const int lane = threadIdx.x & 31;
  for (std::int64_t row = thread_index() / 32 * kRowsAtOnce; row < rows; row += thread_count() / 32 * kRowsAtOnce) {
    Real sums[kSums] = {};
    for (std::int64_t j = lane * G; j < stride; j += 32 * G) {
      const RowGroups<Store, Real> group(x + j, row, rows, 1, stride);
#pragma unroll
      for (int s = 0; s < S; ++s) {
        Real theta[G];
        load_group(coefficients + s * stride + j, theta);
#pragma unroll
        for (int g = 0; g < G; ++g)
#pragma unroll
          for (int r = 0; r < kRowsAtOnce; ++r) sums[r * S + s] += group.x[r][g] * theta[g];
      }
    }
    const Real sum = warp_sums<kSums>(sums, lane);
    const int k = lane / (32 / kSums);
    const std::int64_t i = row + k / S;
    if (lane % (32 / kSums) == 0 && k % S < K && i < rows) predictors[i * K + k % S] = sum;
  }
}

// A block: a warp's width of columns, whose eight warps take four rows of a part each in turn.
template <class Store, class Real, int S>
__global__ void accumulate_few_kernel(const Store* x, std::int64_t rows, std::int64_t stride, const Real* residuals, int K, double* parts) {
  constexpr int G = kGroup<Store>;
  __shared__ Real shared[kWarps][32];
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * 32 + lane) * G;
  const std::int64_t begin = blockIdx.y * kPartRows;
  const std::int64_t end = begin + kPartRows < rows ? begin + kPartRows : rows;
  Real sums[S][G] = {};
  if (column < stride)
    for (std::int64_t row = begin + warp; row < end; row += kRowsAtOnce * kWarps) {
      const RowGroups<Store, Real> group(x + column, row, end, kWarps, stride);
#pragma unroll
      for (int r = 0; r < kRowsAtOnce; ++r) {
        const std::int64_t i = row + r * kWarps;
        if (i >= end) break;
#pragma unroll
        for (int s = 0; s < S; ++s) {
          const Real residual = s < K ? residuals[i * K + s] : Real(0);
#pragma unroll
          for (int g = 0; g < G; ++g) sums[s][g] += group.x[r][g] * residual;
        }
      }
    }
#pragma unroll
  for (int s = 0; s < S; ++s)
#pragma unroll
    for (int g = 0; g < G; ++g) {
      shared[warp][lane] = sums[s][g];
      __syncthreads();
      if (warp == 0 && s < K && column < stride) {
        double total = 0;
        for (int w = 0; w < kWarps; ++w) total += static_cast<double>(shared[w][lane]);
        parts[(static_cast<std::int64_t>(blockIdx.y) * K + s) * stride + column + g] = total;
      }
      __syncthreads();
    }
}

/// Calls launch(places) with the number of draws that kernels are compiled for.
template <class Launch>
void for_places(int K, const Launch& launch) {
  switch (draw_places(K)) {
    case 1:
      return launch(std::integral_constant<int, 1>{});
    case 4:
      return launch(std::integral_constant<int, 4>{});
    default:
      return launch(std::integral_constant<int, kMostDraws>{});
  }
}

}  // namespace

template <class Store, class Real>
void predict_few(const void* x, std::int64_t rows, std::int64_t stride, const Real* coefficients, int K, Real* predictors,
                 cudaStream_t stream) {
  for_places(K, [&](auto places) {
    predict_few_kernel<Store, Real, decltype(places)::value>
        <<<blocks_for(rows, kWarps * kRowsAtOnce), kThreads, 0, stream>>>(static_cast<const Store*>(x), rows, stride, coefficients, K, predictors);
  });
  check_launch("to find predictors");
}

template <class Store, class Real>
void accumulate_few(const void* x, std::int64_t rows, std::int64_t stride, const Real* residuals, int K, double* parts, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((stride + 32 * kGroup<Store> - 1) / (32 * kGroup<Store>)),
                  static_cast<unsigned>((rows + kPartRows - 1) / kPartRows));
  for_places(K, [&](auto places) {
    accumulate_few_kernel<Store, Real, decltype(places)::value>
        <<<grid, kThreads, 0, stream>>>(static_cast<const Store*>(x), rows, stride, residuals, K, parts);
  });
  check_launch("to find gradients");
}

#define MAGVA_FEW_DRAWS(Store, Real)                                                                                                 \
  template void predict_few<Store, Real>(const void*, std::int64_t, std::int64_t, const Real*, int, Real*, cudaStream_t);             \
  template void accumulate_few<Store, Real>(const void*, std::int64_t, std::int64_t, const Real*, int, double*, cudaStream_t);
MAGVA_FEW_DRAWS(double, double)
MAGVA_FEW_DRAWS(float, float)
MAGVA_FEW_DRAWS(signed char, double)
MAGVA_FEW_DRAWS(signed char, float)
#undef MAGVA_FEW_DRAWS

}  // namespace magva_cuda
