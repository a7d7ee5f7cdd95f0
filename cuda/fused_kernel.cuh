#pragma once
#include "fused.cuh"
#include "likelihoods.cuh"

namespace magva_cuda {

template <class Store>
struct Loaded;

template <>
struct Loaded<float> {
  float4 raw;
  __device__ void load(const float* from) { raw = __ldcs(reinterpret_cast<const float4*>(from)); }
  __device__ void clear() { raw = make_float4(0, 0, 0, 0); }
  template <class Real>
  __device__ Real get(int g) const {
    return static_cast<Real>(g == 0 ? raw.x : g == 1 ? raw.y : g == 2 ? raw.z : raw.w);
  }
};

template <>
struct Loaded<double> {
  double2 raw;
  __device__ void load(const double* from) { raw = __ldcs(reinterpret_cast<const double2*>(from)); }
  __device__ void clear() { raw = make_double2(0, 0); }
  template <class Real>
  __device__ Real get(int g) const {
    return static_cast<Real>(g == 0 ? raw.x : raw.y);
  }
};

template <>
struct Loaded<signed char> {
  int raw;
  __device__ void load(const signed char* from) { raw = __ldcs(reinterpret_cast<const int*>(from)); }
  __device__ void clear() { raw = 0; }
  /// A byte becomes the low bits of 2^23 (of 2^52 in double precision) plus 128 plus its value: conversion instructions are eight times as
  /// slow.
  template <class Real>
  __device__ Real get(int g) const {
    const unsigned shifted = static_cast<unsigned>(raw) ^ 0x80808080u;
    if constexpr (sizeof(Real) == 4)
      return __uint_as_float(__byte_perm(shifted, 0x4b000000u, 0x7650u | static_cast<unsigned>(g))) - 8388736.f;
    else
      return __hiloint2double(0x43300000, static_cast<int>(__byte_perm(shifted, 0u, 0x4440u | static_cast<unsigned>(g)))) - 4503599627370624.;
  }
};

/// N sums over a warp at once: lane l returns that of value[l / (32 / N)]. Each step halves the values that a lane is responsible for.
template <int N, int kBit = 16, class Real, int kSize>
__device__ inline Real warp_sums(Real (&value)[kSize], int lane) {
  if constexpr (kBit == 0) {
    return value[0];
  } else if constexpr (N == 1) {
    value[0] += __shfl_xor_sync(~0u, value[0], kBit);
    return warp_sums<1, kBit / 2>(value, lane);
  } else {
    const bool upper = lane & kBit;
#pragma unroll
    for (int k = 0; k < N / 2; ++k) {
      const Real send = upper ? value[k] : value[k + N / 2];
      const Real keep = upper ? value[k + N / 2] : value[k];
      value[k] = keep + __shfl_xor_sync(~0u, send, kBit);
    }
    return warp_sums<N / 2, kBit / 2>(value, lane);
  }
}

/// Steps after which single-precision gradients are added to double-precision ones.
inline constexpr int kFlushSteps = 64;

/// The columns of one thread, V groups of them: coefficients and gradients of S draws.
template <class Store, class Real, int V, int S>
struct ThreadColumns {
  static constexpr int G = kGroup<Store>;

  __device__ explicit ThreadColumns(const FusedPass& pass) : add(pass.add) {
    const auto* coefficients = static_cast<const Real*>(pass.coefficients);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      mine[v] = column(v) < pass.stride;
#pragma unroll
      for (int s = 0; s < S; ++s)
#pragma unroll
        for (int g = 0; g < G; ++g) {
          theta[s][v][g] = mine[v] ? coefficients[s * pass.stride + column(v) + g] : Real(0);
          gradient[s][v][g] = 0;
        }
    }
  }

  __device__ static int column(int v) { return (v * kThreads + static_cast<int>(threadIdx.x)) * G; }

  __device__ void add_products(const Real (&x)[G], int v, Real* eta) const {
#pragma unroll
    for (int g = 0; g < G; ++g)
#pragma unroll
      for (int s = 0; s < S; ++s) eta[s] += x[g] * theta[s][v][g];
  }
  __device__ void add_gradients(const Real (&x)[G], int v, const Real* residual) {
#pragma unroll
    for (int g = 0; g < G; ++g)
#pragma unroll
      for (int s = 0; s < S; ++s) gradient[s][v][g] += residual[s] * x[g];
  }

  /// To the sums of the block, in double precision.
  __device__ void flush(const FusedPass& pass) {
    double* out = pass.gradient + static_cast<std::int64_t>(blockIdx.x) * S * pass.stride;
#pragma unroll
    for (int s = 0; s < S; ++s)
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (!mine[v]) continue;
        double* to = out + s * pass.stride + column(v);
#pragma unroll
        for (int g = 0; g < G; ++g) {
          to[g] = (add ? to[g] : 0.) + static_cast<double>(gradient[s][v][g]);
          gradient[s][v][g] = 0;
        }
      }
    add = true;
  }

  bool mine[V];
  bool add;
  Real theta[S][V][G];
  Real gradient[S][V][G];
};

/// The likelihood of R rows and S draws a step: of one row and one draw for each of the first threads.
template <class Real, int S, int R>
struct ThreadRow {
  static constexpr int N = R * S;

  __device__ explicit ThreadRow(const FusedPass& pass) {
    const int t = static_cast<int>(threadIdx.x);
    precision = t < N ? static_cast<const Real*>(pass.precision)[t % S] : Real(1);
    log_scale = t < N ? static_cast<const Real*>(pass.log_scale)[t % S] : Real(0);
  }
  /// Early in a step, so that what is read is there when it is needed.
  __device__ void fetch(const FusedPass& pass, std::int64_t first) {
    const std::int64_t row = first + threadIdx.x / S;
    there = threadIdx.x < N && row < pass.rows;
    y = there ? static_cast<const Real*>(pass.response)[row] : Real(0);
    w = there && pass.weight ? static_cast<const Real*>(pass.weight)[row] : Real(1);
    offset = there && pass.offset ? static_cast<const Real*>(pass.offset)[row] : Real(0);
  }
  /// From the warps' parts of the predictors.
  template <int W>
  __device__ void evaluate(const FusedPass& pass, const Real (&partial)[W][N], Real (&residual)[N]) {
    const int t = static_cast<int>(threadIdx.x);
    if (t >= N) return;
    Real predictor = offset;
#pragma unroll
    for (int k = 0; k < W; ++k) predictor += partial[k][t];
    Real r = 0;
    if (there) {
      const Point<Real> at = point<Real>(pass.likelihood, predictor, y, precision, log_scale);
      log_likelihood += static_cast<double>(w) * static_cast<double>(at.value);
      if (pass.likelihood == MAGVA_CUDA_GAUSSIAN) by_log_scale += static_cast<double>(w) * static_cast<double>(at.by_log_scale);
      r = w * at.residual;
    }
    residual[t] = r;
  }
  __device__ void finish(const FusedPass& pass, double (&totals)[2][N]) const {
    const int t = static_cast<int>(threadIdx.x);
    if (t < N) {
      totals[0][t] = log_likelihood;
      totals[1][t] = by_log_scale;
    }
    __syncthreads();
    if (t >= S) return;
    double* sums = pass.sums + (static_cast<std::int64_t>(blockIdx.x) * S + t) * 2;
    for (int k = 0; k < 2; ++k) {
      double total = pass.add ? sums[k] : 0.;
      for (int r = 0; r < R; ++r) total += totals[k][r * S + t];
      sums[k] = total;
    }
  }

  bool there = false;
  Real y = 0, w = 0, offset = 0, precision, log_scale;
  double log_likelihood = 0, by_log_scale = 0;
};

/// A block takes R rows a step. Those of the next step are on their way to registers meanwhile.
template <class Store, class Real, int V, int S, int R>
__global__ void __launch_bounds__(kThreads, 2) fused_rows(FusedPass pass) {
  constexpr int N = R * S;
  __shared__ Real partial[kWarps][N];
  __shared__ Real residual[N];
  __shared__ double totals[2][N];
  const int lane = threadIdx.x & 31;
  ThreadColumns<Store, Real, V, S> columns(pass);
  ThreadRow<Real, S, R> own(pass);
  Loaded<Store> next[R][V];
  const auto load = [&](std::int64_t first) {
    const Store* from = static_cast<const Store*>(pass.design) + first * pass.stride;
    const int there = first + R <= pass.rows ? R : first < pass.rows ? static_cast<int>(pass.rows - first) : 0;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int v = 0; v < V; ++v) {
        if (columns.mine[v] && r < there)
          next[r][v].load(from + r * pass.stride + columns.column(v));
        else
          next[r][v].clear();
      }
  };
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * R;
  std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * R;
  load(first);
  for (int steps = 0; first < pass.rows; first += step) {
    own.fetch(pass, first);
    Real row[R][V][kGroup<Store>];
    Real eta[N];
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int v = 0; v < V; ++v)
#pragma unroll
        for (int g = 0; g < kGroup<Store>; ++g) row[r][v][g] = next[r][v].template get<Real>(g);
    load(first + step);
#pragma unroll
    for (int n = 0; n < N; ++n) eta[n] = 0;
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int v = 0; v < V; ++v) columns.add_products(row[r][v], v, eta + r * S);
    const Real sum = warp_sums<N>(eta, lane);
    if (lane % (32 / N) == 0) partial[threadIdx.x >> 5][lane / (32 / N)] = sum;
    __syncthreads();
    own.evaluate(pass, partial, residual);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int v = 0; v < V; ++v) columns.add_gradients(row[r][v], v, residual + r * S);
    if (sizeof(Real) == 4 && ++steps % kFlushSteps == 0) columns.flush(pass);
  }
  columns.flush(pass);
  own.finish(pass, totals);
}

/// Groups of columns times draws that fit a thread's registers.
template <class Store, class Real>
inline constexpr int kMostPlaces = 32 / (kGroup<Store> * static_cast<int>(sizeof(Real)) / 4);

/// Rows a step: as many as keep enough loads on their way and all values in registers.
template <class Store, class Real, int V, int S>
inline constexpr int kStepRows = S == 1 ? (sizeof(Store) == 1 && sizeof(Real) == 4 ? 16 : 8) / V : 8 / (V * S) < 2 ? 2 : 8 / (V * S);

using FusedKernel = void (*)(FusedPass);

template <class Store, class Real, int V, int S>
FusedKernel fused_of() {
  if constexpr (V * S > kMostPlaces<Store, Real>)
    return nullptr;
  else
    return fused_rows<Store, Real, V, S, kStepRows<Store, Real, V, S>>;
}

template <class Store>
int groups_of(std::int64_t stride) {
  for (int v = 1; v <= kMostGroups; v *= 2)
    if (stride <= static_cast<std::int64_t>(v) * kThreads * kGroup<Store>) return v;
  return 0;
}

template <class Store, class Real, int S>
FusedKernel fused_for(std::int64_t stride) {
  switch (groups_of<Store>(stride)) {
    case 1:
      return fused_of<Store, Real, 1, S>();
    case 2:
      return fused_of<Store, Real, 2, S>();
    case 4:
      return fused_of<Store, Real, 4, S>();
    default:
      return fused_of<Store, Real, 8, S>();
  }
}

template <class Store, class Real>
int fused_draws(std::int64_t stride) {
  const int groups = groups_of<Store>(stride);
  const int places = groups == 0 ? 0 : kMostPlaces<Store, Real> / groups;
  return places >= 8 ? 8 : places >= 4 ? 4 : places >= 1 ? 1 : 0;
}

template <class Store, class Real>
FusedPlan plan_fused(std::int64_t stride, std::int64_t draws, const DeviceFacts& device) {
  const int most = fused_draws<Store, Real>(stride);
  FusedPlan plan;
  if constexpr (sizeof(Real) == 4) {
    plan = plan_tensor<Store>(stride, draws, device);
    if (plan.kernel == nullptr && sizeof(Store) == 1 && draws == 1) plan = plan_warp_rows(stride, device);
    if (plan.kernel != nullptr) return plan;
  }
  plan.places = draws > 4 && most >= 8 ? 8 : draws > 1 && most >= 4 ? 4 : 1;
  plan.kernel = plan.places == 8   ? fused_for<Store, Real, 8>(stride)
                : plan.places == 4 ? fused_for<Store, Real, 4>(stride)
                                   : fused_for<Store, Real, 1>(stride);
  plan.threads = kThreads;
  plan_blocks(plan, device);
  return plan;
}

#define MAGVA_FUSED(Store, Real)                         \
  template int fused_draws<Store, Real>(std::int64_t);   \
  template FusedPlan plan_fused<Store, Real>(std::int64_t, std::int64_t, const DeviceFacts&)

}  // namespace magva_cuda
