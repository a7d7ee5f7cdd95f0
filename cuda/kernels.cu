#include "kernels.cuh"

#include "fused.cuh"
#include "launch.cuh"

namespace magva_cuda {

namespace {

template <class From, class To>
__global__ void convert_kernel(const From* from, std::int64_t count, To* to) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) to[i] = static_cast<To>(from[i]);
}

template <class From>
__global__ void convert_exactly_kernel(const From* from, std::int64_t count, signed char* to, int* inexact) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    const From value = from[i];
    const bool fits = value >= -128 && value <= 127 && value == rint(value);
    to[i] = fits ? static_cast<signed char>(value) : static_cast<signed char>(0);
    if (!fits) *inexact = 1;
  }
}

template <class T>
__global__ void gather_kernel(const T* from, const std::int64_t* rows, std::int64_t count, T* to) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) to[i] = from[rows[i]];
}

__global__ void gather_rows_kernel(const int4* from, const std::int64_t* rows, std::int64_t count, std::int64_t words, int4* to) {
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x)
    for (std::int64_t j = threadIdx.x; j < words; j += blockDim.x) to[i * words + j] = from[rows[i] * words + j];
}

template <class Real>
__global__ void spread_draws_kernel(const double* from, std::int64_t from_stride, std::int64_t cols, std::int64_t count, Real* to,
                                    std::int64_t stride, std::int64_t places) {
  for (std::int64_t e = thread_index(); e < stride * places; e += thread_count()) {
    const std::int64_t j = e % stride;
    const std::int64_t s = e / stride;
    to[e] = j < cols && s < count ? static_cast<Real>(from[s * from_stride + j]) : Real(0);
  }
}

template <class From>
__global__ void add_to_kernel(const From* from, std::int64_t count, double* to) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) to[i] += static_cast<double>(from[i]);
}

__global__ void add_chunks_kernel(const double* sums, std::int64_t chunks, std::int64_t count, double* out) {
  for (std::int64_t i = thread_index(); i < count; i += thread_count()) {
    double total = out[i];
    for (std::int64_t c = 0; c < chunks; ++c) total += sums[c * count + i];
    out[i] = total;
  }
}

// The same with a warp for each sum, which takes the chunks 32 at a time.
__global__ void add_many_chunks_kernel(const double* sums, std::int64_t chunks, std::int64_t count, double* out) {
  const int lane = threadIdx.x & 31;
  for (std::int64_t i = thread_index() / 32; i < count; i += thread_count() / 32) {
    double total = 0;
#pragma unroll 8
    for (std::int64_t c = lane; c < chunks; c += 32) total += sums[c * count + i];
    total = warp_sum(total);
    if (lane == 0) out[i] += total;
  }
}

constexpr int kReduceWarps = 32;

// A block: 32 columns; each warp takes one in 32 of the blocks that have a part of the sum.
__global__ void reduce_kernel(const double* gradient, const double* sums, int blocks, int draws, std::int64_t stride,
                              std::int64_t columns, double* out, double* out_sums) {
  __shared__ double parts[kReduceWarps][32];
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  const int draw = blockIdx.y;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * 32 + lane;
  double total = 0;
  if (column < columns)
#pragma unroll 8
    for (int b = warp; b < blocks; b += kReduceWarps) total += gradient[(static_cast<std::int64_t>(b) * draws + draw) * stride + column];
  parts[warp][lane] = total;
  __syncthreads();
  if (warp == 0 && column < columns) {
    total = 0;
    for (int k = 0; k < kReduceWarps; ++k) total += parts[k][lane];
    out[draw * columns + column] = total;
  }
  if (sums != nullptr && blockIdx.x == 0 && (warp == 1 || warp == 2)) {
    double part = 0;
    for (int b = lane; b < blocks; b += 32) part += sums[(static_cast<std::int64_t>(b) * draws + draw) * 2 + (warp - 1)];
    part = warp_sum(part);
    if (lane == 0) out_sums[draw * 2 + (warp - 1)] = part;
  }
}

__global__ void sparse_predict_kernel(SparseOnDevice x, std::int64_t rows, const double* coefficients, std::int64_t cols, int draws,
                                      double* predictors) {
  const int lane = threadIdx.x & 31;
  for (std::int64_t i = thread_index() / 32; i < rows; i += thread_count() / 32)
    for (int k = 0; k < draws; ++k) {
      double sum = 0;
      for (std::int64_t e = x.starts[i] + lane; e < x.starts[i + 1]; e += 32) sum += x.values[e] * coefficients[k * cols + x.indices[e]];
      sum = warp_sum(sum);
      if (lane == 0) predictors[i * draws + k] = sum;
    }
}

__global__ void sparse_accumulate_kernel(SparseOnDevice x, std::int64_t cols, const double* residual, int draws, double* gradient) {
  const int lane = threadIdx.x & 31;
  for (std::int64_t j = thread_index() / 32; j < cols; j += thread_count() / 32)
    for (int k = 0; k < draws; ++k) {
      double sum = 0;
      for (std::int64_t e = x.starts[j] + lane; e < x.starts[j + 1]; e += 32)
        sum += x.values[e] * residual[static_cast<std::int64_t>(x.indices[e]) * draws + k];
      sum = warp_sum(sum);
      if (lane == 0) gradient[k * cols + j] = sum;
    }
}

__global__ void densify_kernel(SparseOnDevice x, std::int64_t first, std::int64_t nb, double* out, std::int64_t stride) {
  const int lane = threadIdx.x & 31;
  for (std::int64_t i = thread_index() / 32; i < nb; i += thread_count() / 32)
    for (std::int64_t e = x.starts[first + i] + lane; e < x.starts[first + i + 1]; e += 32) out[i * stride + x.indices[e]] = x.values[e];
}

__global__ void variances_kernel(const double* predictors, std::int64_t K, std::int64_t lead, const double* x, std::int64_t stride,
                                 std::int64_t cols, const double* square, std::int64_t nb, double* variance) {
  const int lane = threadIdx.x & 31;
  for (std::int64_t i = thread_index() / 32; i < nb; i += thread_count() / 32) {
    double sum = 0;
    for (std::int64_t k = lead + lane; k < K; k += 32) sum += predictors[i * K + k] * predictors[i * K + k];
    if (square)
      for (std::int64_t j = lane; j < cols; j += 32) sum += x[i * stride + j] * x[i * stride + j] * square[j];
    sum = warp_sum(sum);
    if (lane == 0) variance[i] = sum;
  }
}

__global__ void scale_predictors_kernel(double* predictors, std::int64_t K, std::int64_t lead, std::int64_t nb, const double* curvature) {
  const std::int64_t factors = K - lead;
  for (std::int64_t e = thread_index(); e < factors * nb; e += thread_count())
    predictors[e / factors * K + lead + e % factors] *= curvature[e / factors];
}

__global__ void weighted_squares_kernel(const double* x, std::int64_t stride, std::int64_t cols, std::int64_t nb, const double* weight,
                                        double* sums) {
  const std::int64_t j = thread_index();
  if (j >= cols) return;
  const std::int64_t begin = nb * blockIdx.y / kSquareChunks;
  const std::int64_t end = nb * (blockIdx.y + 1) / kSquareChunks;
  double sum = 0;
#pragma unroll 8
  for (std::int64_t i = begin; i < end; ++i) sum += x[i * stride + j] * x[i * stride + j] * weight[i];
  sums[blockIdx.y * cols + j] = sum;
}

__global__ void scale_rows_kernel(const double* x, std::int64_t stride, std::int64_t nb, const double* weight, double* to) {
  for (std::int64_t i = blockIdx.x; i < nb; i += gridDim.x) {
    const double root = sqrt(weight[i]);
    for (std::int64_t j = threadIdx.x; j < stride; j += blockDim.x) to[i * stride + j] = root * x[i * stride + j];
  }
}

}  // namespace

template <class From, class To>
void convert(const From* from, std::int64_t count, To* to, cudaStream_t stream) {
  convert_kernel<<<blocks_for(count), kBlock, 0, stream>>>(from, count, to);
  check_launch("to convert values");
}
template void convert(const signed char*, std::int64_t, float*, cudaStream_t);
template void convert(const signed char*, std::int64_t, double*, cudaStream_t);
template void convert(const float*, std::int64_t, double*, cudaStream_t);
template void convert(const double*, std::int64_t, float*, cudaStream_t);

template <class From>
void convert_exactly(const From* from, std::int64_t count, signed char* to, int* inexact, cudaStream_t stream) {
  convert_exactly_kernel<<<blocks_for(count), kBlock, 0, stream>>>(from, count, to, inexact);
  check_launch("to convert values");
}
template void convert_exactly(const float*, std::int64_t, signed char*, int*, cudaStream_t);
template void convert_exactly(const double*, std::int64_t, signed char*, int*, cudaStream_t);

template <class T>
void gather(const T* from, const std::int64_t* rows, std::int64_t count, T* to, cudaStream_t stream) {
  gather_kernel<<<blocks_for(count), kBlock, 0, stream>>>(from, rows, count, to);
  check_launch("to choose rows");
}
template void gather(const float*, const std::int64_t*, std::int64_t, float*, cudaStream_t);
template void gather(const double*, const std::int64_t*, std::int64_t, double*, cudaStream_t);

void gather_rows(const void* from, const std::int64_t* rows, std::int64_t count, std::int64_t row_bytes, void* to, cudaStream_t stream) {
  gather_rows_kernel<<<blocks_for(count, 1), 64, 0, stream>>>(static_cast<const int4*>(from), rows, count, row_bytes / 16,
                                                               static_cast<int4*>(to));
  check_launch("to choose rows");
}

template <class Real>
void spread_draws(const double* from, std::int64_t from_stride, std::int64_t cols, std::int64_t count, Real* to, std::int64_t stride,
                  std::int64_t places, cudaStream_t stream) {
  spread_draws_kernel<<<blocks_for(stride * places), kBlock, 0, stream>>>(from, from_stride, cols, count, to, stride, places);
  check_launch("to take draws");
}
template void spread_draws(const double*, std::int64_t, std::int64_t, std::int64_t, float*, std::int64_t, std::int64_t, cudaStream_t);
template void spread_draws(const double*, std::int64_t, std::int64_t, std::int64_t, double*, std::int64_t, std::int64_t, cudaStream_t);

template <class From>
void add_to(const From* from, std::int64_t count, double* to, cudaStream_t stream) {
  add_to_kernel<<<blocks_for(count), kBlock, 0, stream>>>(from, count, to);
  check_launch("to add up");
}
template void add_to(const float*, std::int64_t, double*, cudaStream_t);
template void add_to(const double*, std::int64_t, double*, cudaStream_t);

void add_chunks(const double* sums, std::int64_t chunks, std::int64_t count, double* out, cudaStream_t stream) {
  constexpr std::int64_t kFewChunks = 64;
  if (chunks <= kFewChunks)
    add_chunks_kernel<<<blocks_for(count), kBlock, 0, stream>>>(sums, chunks, count, out);
  else
    add_many_chunks_kernel<<<blocks_for(count * 32), kBlock, 0, stream>>>(sums, chunks, count, out);
  check_launch("to add up");
}

void launch_reduce(const double* gradient, const double* sums, int blocks, int draws, std::int64_t stride, std::int64_t columns,
                   double* out, double* out_sums, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((columns + 31) / 32), static_cast<unsigned>(draws));
  reduce_kernel<<<grid, kReduceWarps * 32, 0, stream>>>(gradient, sums, blocks, draws, stride, columns, out, out_sums);
  check_launch("to add up");
}

void sparse_predict(const SparseOnDevice& by_rows, std::int64_t rows, const double* coefficients, std::int64_t cols, int draws,
                    double* predictors, cudaStream_t stream) {
  sparse_predict_kernel<<<blocks_for(rows * 32), kBlock, 0, stream>>>(by_rows, rows, coefficients, cols, draws, predictors);
  check_launch("to multiply a sparse design");
}

void sparse_accumulate(const SparseOnDevice& by_columns, std::int64_t cols, const double* residual, int draws, double* gradient,
                       cudaStream_t stream) {
  sparse_accumulate_kernel<<<blocks_for(cols * 32), kBlock, 0, stream>>>(by_columns, cols, residual, draws, gradient);
  check_launch("to multiply a sparse design");
}

void densify(const SparseOnDevice& by_rows, std::int64_t first, std::int64_t nb, double* out, std::int64_t stride, cudaStream_t stream) {
  densify_kernel<<<blocks_for(nb * 32), kBlock, 0, stream>>>(by_rows, first, nb, out, stride);
  check_launch("to unpack a sparse design");
}

void variances(const double* predictors, std::int64_t K, std::int64_t lead, const double* x, std::int64_t stride, std::int64_t cols,
               const double* square, std::int64_t nb, double* variance, cudaStream_t stream) {
  variances_kernel<<<blocks_for(nb * 32), kBlock, 0, stream>>>(predictors, K, lead, x, stride, cols, square, nb, variance);
  check_launch("to find variances");
}

void scale_predictors(double* predictors, std::int64_t K, std::int64_t lead, std::int64_t nb, const double* curvature, cudaStream_t stream) {
  if (K == lead) return;
  scale_predictors_kernel<<<blocks_for((K - lead) * nb), kBlock, 0, stream>>>(predictors, K, lead, nb, curvature);
  check_launch("to scale products");
}

void weighted_squares(const double* x, std::int64_t stride, std::int64_t cols, std::int64_t nb, const double* weight, double* sums,
                      cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((cols + kBlock - 1) / kBlock), static_cast<unsigned>(kSquareChunks));
  weighted_squares_kernel<<<grid, kBlock, 0, stream>>>(x, stride, cols, nb, weight, sums);
  check_launch("to add up squares");
}

void scale_rows(const double* x, std::int64_t stride, std::int64_t nb, const double* weight, double* to, cudaStream_t stream) {
  scale_rows_kernel<<<blocks_for(nb, 1), kBlock, 0, stream>>>(x, stride, nb, weight, to);
  check_launch("to scale rows");
}

}  // namespace magva_cuda
