// Likelihoods of the rows of a tile at its predictors, and their expectations.
#include "families.cuh"
#include "kernels.cuh"
#include "launch.cuh"

namespace magva_cuda {

namespace {

template <class Real>
__device__ Real value_or(const void* values, std::int64_t i, double otherwise) {
  return values ? static_cast<const Real*>(values)[i] : static_cast<Real>(otherwise);
}

/// A weighted row at a predictor: log likelihood, and derivatives by eta and by the likelihood's own coordinates.
struct RowSlopes {
  double value, by_eta, by_own, by_second;
};

/// One of the three likelihoods that have kernels of their own.
template <class Real>
struct PlainSlopes {
  Observations rows;
  const Real* precision;
  const Real* log_scale;

  __device__ RowSlopes operator()(std::int64_t i, int draw, Real predictor) const {
    const Real w = value_or<Real>(rows.weight, i, 1);
    const Point<Real> p = point<Real>(rows.likelihood, predictor + value_or<Real>(rows.offset, i, 0),
                                      static_cast<const Real*>(rows.response)[i], precision[draw], log_scale[draw]);
    const auto weight = static_cast<double>(w);
    return {weight * static_cast<double>(p.value), static_cast<double>(w * p.residual), weight * static_cast<double>(p.by_log_scale), 0};
  }
};

/// Any other, in double precision whatever the predictors are in.
struct FamilySlopes {
  Observations rows;
  const double* own_values;  // MAGVA_CUDA_OWN_VALUES of each draw

  __device__ RowSlopes operator()(std::int64_t i, int draw, double predictor) const {
    const double w = value_or<double>(rows.weight, i, 1);
    if (w == 0) return {0, 0, 0, 0};
    const FamilyRow row{static_cast<const double*>(rows.response)[i], value_or<double>(rows.status, i, 1)};
    const FamilyPoint p = family_point(rows.likelihood, row, predictor + value_or<double>(rows.offset, i, 0),
                                       own_values + static_cast<std::int64_t>(draw) * MAGVA_CUDA_OWN_VALUES);
    return {w * p.value, w * p.by_eta, w * p.by_own, w * p.by_second};
  }
};

// A block: up to 32 draws, and as many rows at a time as there are threads for.
template <class Real, class Slopes>
__global__ void residuals_kernel(Slopes slopes, Real* predictors, std::int64_t nb, int draws, double* chunk_sums) {
  const int wide = draws < 32 ? draws : 32;
  const int lanes = kBlock / wide;  // of rows
  const int lane = static_cast<int>(threadIdx.x) / wide;
  const int draw = static_cast<int>(blockIdx.y) * 32 + static_cast<int>(threadIdx.x) % wide;
  const std::int64_t begin = blockIdx.x * kChunkRows;
  const std::int64_t end = begin + kChunkRows < nb ? begin + kChunkRows : nb;
  double sums[kDrawSums] = {};
  if (draw < draws && lane < lanes)
    for (std::int64_t i = begin + lane; i < end; i += lanes) {
      Real& at = predictors[i * draws + draw];
      const RowSlopes row = slopes(i, draw, at);
      sums[0] += row.value;
      sums[1] += row.by_own;
      sums[2] += row.by_second;
      at = static_cast<Real>(row.by_eta);
    }
  __shared__ double parts[kDrawSums][kBlock];
  for (int k = 0; k < kDrawSums; ++k) parts[k][threadIdx.x] = sums[k];
  __syncthreads();
  for (int left = lanes; left > 1;) {
    const int half = (left + 1) / 2;
    if (lane < left - half)
      for (int k = 0; k < kDrawSums; ++k) parts[k][threadIdx.x] += parts[k][threadIdx.x + half * wide];
    left = half;
    __syncthreads();
  }
  if (lane == 0 && draw < draws)
    for (int k = 0; k < kDrawSums; ++k)
      chunk_sums[(static_cast<std::int64_t>(blockIdx.x) * draws + draw) * kDrawSums + k] = parts[k][threadIdx.x];
}

template <class Real, class Slopes>
void launch_residuals(const Slopes& slopes, Real* predictors, std::int64_t nb, int draws, double* chunk_sums, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((nb + kChunkRows - 1) / kChunkRows), static_cast<unsigned>((draws + 31) / 32));
  residuals_kernel<<<grid, kBlock, 0, stream>>>(slopes, predictors, nb, draws, chunk_sums);
  check_launch("to evaluate likelihoods");
}

/// A row's moments under the Gaussian: of its predictor, and the predictor's covariance with the likelihood's own coordinate.
struct Moments {
  double mean, variance, covariance;
};

struct PlainExpectation {
  Observations rows;
  OwnMarginal own;

  __device__ ExpectedPoint operator()(std::int64_t i, const Moments& at) const {
    return expected_point(rows.likelihood, at.mean, at.variance, at.covariance, static_cast<const double*>(rows.response)[i],
                          value_or<double>(rows.weight, i, 1), own);
  }
};

struct FamilyExpectation {
  Observations rows;
  FamilyMarginal own;
  NormalRules rules;

  /// Given a value of the own coordinate, the predictor is normal again.
  __device__ ExpectedPoint operator()(std::int64_t i, const Moments& at) const {
    const double w = value_or<double>(rows.weight, i, 1);
    ExpectedPoint out{0, 0, 0, 0, 0, 0};
    if (w == 0) return out;
    const FamilyRow row{static_cast<const double*>(rows.response)[i], value_or<double>(rows.status, i, 1)};
    const double covariance = own.variance > 0 ? at.covariance : 0;
    const double explained = own.variance > 0 ? covariance * covariance / own.variance : 0;
    const double variance = fmax(0., at.variance - explained);
    for (std::int64_t k = 0; k < own.node_count; ++k) {
      const magva_cuda_own_node& node = own.nodes[k];
      const FamilyPoint p =
          expected_family_point(rows.likelihood, row, at.mean + covariance * node.shift, variance, node.values, rules);
      const double weight = w * node.weight;
      out.value += weight * p.value;
      out.slope += weight * p.by_eta;
      out.curvature -= weight * p.by_eta2;
      out.cross -= weight * p.by_eta_own;
      out.own_slope += weight * p.by_own;
      out.own_curvature -= weight * p.by_own2;
    }
    return out;
  }
};

/// Sums of a block in a fixed order; the result is each thread's.
__device__ double block_sum(double value, double* parts) {
  value = warp_sum(value);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  double total = 0;
  for (int k = 0; k < kBlock / 32; ++k) total += parts[k];
  return total;
}

template <class Expectation>
__global__ void differentiate_kernel(Expectation expectation, bool with_covariance, double* predictors, std::int64_t K, std::int64_t nb,
                                     const double* variance, double* curvature, double* chunk_sums) {
  __shared__ double parts[kBlock / 32];
  const std::int64_t begin = blockIdx.x * kChunkRows;
  const std::int64_t end = begin + kChunkRows < nb ? begin + kChunkRows : nb;
  double value = 0;
  double slope = 0;
  double own_curvature = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kBlock) {
    double* at = predictors + i * K;
    const double offset = value_or<double>(expectation.rows.offset, i, 0);
    const ExpectedPoint p = expectation(i, {at[0] + offset, variance[i], with_covariance ? at[1] : 0.});
    at[0] = p.slope;
    if (with_covariance) at[1] = p.cross;
    curvature[i] = p.curvature;
    value += p.value;
    slope += p.own_slope;
    own_curvature += p.own_curvature;
  }
  const double totals[3] = {block_sum(value, parts), block_sum(slope, parts), block_sum(own_curvature, parts)};
  if (threadIdx.x < 3) chunk_sums[blockIdx.x * 3 + threadIdx.x] = totals[threadIdx.x];
}

template <class Expectation>
void launch_differentiate(const Expectation& expectation, bool with_covariance, double* predictors, std::int64_t K, std::int64_t nb,
                          const double* variance, double* curvature, double* chunk_sums, cudaStream_t stream) {
  const auto chunks = static_cast<unsigned>((nb + kChunkRows - 1) / kChunkRows);
  differentiate_kernel<<<chunks, kBlock, 0, stream>>>(expectation, with_covariance, predictors, K, nb, variance, curvature, chunk_sums);
  check_launch("to find expectations");
}

}  // namespace

template <class Real>
void residuals(const Observations& rows, Real* predictors, std::int64_t nb, int draws, const Real* precision, const Real* log_scale,
               double* chunk_sums, cudaStream_t stream) {
  launch_residuals(PlainSlopes<Real>{rows, precision, log_scale}, predictors, nb, draws, chunk_sums, stream);
}
template void residuals(const Observations&, float*, std::int64_t, int, const float*, const float*, double*, cudaStream_t);
template void residuals(const Observations&, double*, std::int64_t, int, const double*, const double*, double*, cudaStream_t);

template <class Real>
void family_residuals(const Observations& rows, Real* predictors, std::int64_t nb, int draws, const double* own_values,
                      double* chunk_sums, cudaStream_t stream) {
  launch_residuals(FamilySlopes{rows, own_values}, predictors, nb, draws, chunk_sums, stream);
}
template void family_residuals(const Observations&, float*, std::int64_t, int, const double*, double*, cudaStream_t);
template void family_residuals(const Observations&, double*, std::int64_t, int, const double*, double*, cudaStream_t);

void differentiate(const Observations& rows, OwnMarginal own, bool with_covariance, double* predictors, std::int64_t K, std::int64_t nb,
                   const double* variance, double* curvature, double* chunk_sums, cudaStream_t stream) {
  launch_differentiate(PlainExpectation{rows, own}, with_covariance, predictors, K, nb, variance, curvature, chunk_sums, stream);
}

void differentiate_family(const Observations& rows, const FamilyMarginal& own, const NormalRules& rules, bool with_covariance,
                          double* predictors, std::int64_t K, std::int64_t nb, const double* variance, double* curvature,
                          double* chunk_sums, cudaStream_t stream) {
  launch_differentiate(FamilyExpectation{rows, own, rules}, with_covariance, predictors, K, nb, variance, curvature, chunk_sums, stream);
}

}  // namespace magva_cuda
