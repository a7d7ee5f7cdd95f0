#include <algorithm>
#include <cmath>
#include <vector>

#include "rows.cuh"

namespace magva_cuda {

namespace {

std::int64_t leading(const magva_cuda_gaussian& q) { return q.covariance != nullptr ? 2 : 1; }
std::int64_t predictors_of(const magva_cuda_gaussian& q) { return leading(q) + q.factor_count; }

void clear(double* data, std::int64_t count, cudaStream_t stream) {
  check(cudaMemsetAsync(data, 0, static_cast<std::size_t>(count) * 8, stream), "to clear memory");
}

void copy_out(const double* from, std::int64_t rows, std::int64_t columns, double* to, std::int64_t stride, cudaStream_t stream) {
  check(cudaMemcpy2DAsync(to, static_cast<std::size_t>(stride) * 8, from, static_cast<std::size_t>(rows) * 8,
                          static_cast<std::size_t>(rows) * 8, static_cast<std::size_t>(columns), cudaMemcpyDeviceToHost, stream),
        "to return sums");
}

}  // namespace

/// Mean, covariances with the own coordinate, factors, squares: columns of `stride` values each, filled up with zeros.
void Rows::upload_gaussian(const magva_cuda_gaussian& q) {
  const std::int64_t stride = design_->stride();
  const std::int64_t cols = design_->cols();
  const std::int64_t columns = predictors_of(q) + 1;
  clear(q_.reserve(columns * stride), columns * stride, stream_);
  const auto put = [&](const double* from, std::int64_t from_stride, std::int64_t at, std::int64_t count) {
    check(cudaMemcpy2DAsync(q_.data() + at * stride, static_cast<std::size_t>(stride) * 8, from, static_cast<std::size_t>(from_stride) * 8,
                            static_cast<std::size_t>(cols) * 8, static_cast<std::size_t>(count), cudaMemcpyHostToDevice, stream_),
          "to take a Gaussian");
  };
  put(q.mean, cols, 0, 1);
  if (q.covariance != nullptr) put(q.covariance, cols, 1, 1);
  if (q.factor_count > 0) put(q.factors, q.factor_stride, leading(q), q.factor_count);
  if (q.square != nullptr) put(q.square, cols, predictors_of(q), 1);
  if (is_family())
    check(cudaMemcpyAsync(own_nodes_.reserve(q.own_node_count), q.own_nodes,
                          static_cast<std::size_t>(q.own_node_count) * sizeof(magva_cuda_own_node), cudaMemcpyHostToDevice, stream_),
          "to take a Gaussian");
}

void Rows::expect_tile(const double* x, std::int64_t first, std::int64_t nb, const magva_cuda_gaussian& q, const magva_cuda_expectations& out) {
  const std::int64_t stride = design_->stride();
  const std::int64_t cols = design_->cols();
  const std::int64_t K = predictors_of(q);
  const std::int64_t lead = leading(q);
  const double one = 1;
  const double zero = 0;
  auto* predictors = reinterpret_cast<double*>(predictors_.data());
  check(cublasDgemm_64(blas(), CUBLAS_OP_T, CUBLAS_OP_N, K, nb, cols, &one, q_.data(), stride, x, stride, &zero, predictors, K),
        "to find predictors");
  variances(predictors, K, lead, x, stride, cols, q.square != nullptr ? q_.data() + K * stride : nullptr, nb, variance_.data(), stream_);
  const Observations rows = observations<double>(first);
  const bool with_covariance = q.covariance != nullptr;
  if (is_family())
    differentiate_family(rows, {q.own_variance, own_nodes_.data(), q.own_node_count}, rules_.view(), with_covariance, predictors, K, nb,
                         variance_.data(), curvature_.data(), chunk_sums_.data(), stream_);
  else
    differentiate(rows, {q.own_mean, q.own_variance, !with_covariance}, with_covariance, predictors, K, nb, variance_.data(),
                  curvature_.data(), chunk_sums_.data(), stream_);
  add_chunks(chunk_sums_.data(), (nb + kChunkRows - 1) / kChunkRows, 3, sums_.data(), stream_);
  const std::int64_t wanted = out.matrix != nullptr ? lead : K;
  if (out.matrix == nullptr) {
    scale_predictors(predictors, K, lead, nb, curvature_.data(), stream_);
    weighted_squares(x, stride, cols, nb, curvature_.data(), square_sums_.data(), stream_);
    add_chunks(square_sums_.data(), kSquareChunks, cols, diagonal_.data(), stream_);
  } else {
    scale_rows(x, stride, nb, curvature_.data(), scaled_.data(), stream_);
    check(cublasDsyrk_64(blas(), CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, cols, nb, &one, scaled_.data(), stride, &one, matrix_.data(), cols),
          "to find the curvature");
  }
  check(cublasDgemm_64(blas(), CUBLAS_OP_N, CUBLAS_OP_T, cols, wanted, nb, &one, x, stride, predictors, K, &one, gradient_.data(), cols),
        "to find gradients");
}

void Rows::return_expectations(const magva_cuda_gaussian& q, magva_cuda_expectations& out) {
  const std::int64_t cols = design_->cols();
  double sums[3];
  copy_out(sums_.data(), 3, 1, sums, 3, stream_);
  copy_out(gradient_.data(), cols, 1, out.gradient, cols, stream_);
  if (q.covariance != nullptr) copy_out(gradient_.data() + cols, cols, 1, out.cross, cols, stream_);
  if (out.matrix != nullptr) {
    copy_out(matrix_.data(), cols, cols, out.matrix, out.matrix_stride, stream_);
  } else {
    if (q.factor_count > 0)
      copy_out(gradient_.data() + leading(q) * cols, cols, q.factor_count, out.times_factors, out.times_factors_stride, stream_);
    copy_out(diagonal_.data(), cols, 1, out.diagonal, cols, stream_);
  }
  check(cudaStreamSynchronize(stream_), "to find expectations");
  out.value = sums[0];
  out.slope = sums[1];
  out.curvature = sums[2];
}

void Rows::expect(const magva_cuda_gaussian& q, magva_cuda_expectations& out) {
  check(cudaSetDevice(device_.device), "to be chosen");
  current_ = &all_;
  const std::int64_t stride = design_->stride();
  const std::int64_t cols = design_->cols();
  const std::int64_t K = predictors_of(q);
  const std::int64_t most = tile_rows(K);
  upload_gaussian(q);
  predictors_.reserve(K * most * 8);
  variance_.reserve(most);
  curvature_.reserve(most);
  chunk_sums_.reserve((most / kChunkRows + 1) * 3);
  clear(sums_.reserve(3), 3, stream_);
  clear(gradient_.reserve(K * cols), K * cols, stream_);
  if (out.matrix != nullptr) {
    scaled_.reserve(most * stride);
    clear(matrix_.reserve(cols * cols), cols * cols, stream_);
  } else {
    square_sums_.reserve(kSquareChunks * cols);
    clear(diagonal_.reserve(cols), cols, stream_);
  }
  const auto over_tiles = [&](const RowsInMemory& part) {
    for (std::int64_t first = 0; first < part.count; first += most) {
      const std::int64_t nb = std::min(most, part.count - first);
      expect_tile(tile_as<double>(part.data, first, nb), part.first + first, nb, q, out);
    }
  };
  if (design_->sparse())
    over_tiles({nullptr, 0, design_->rows()});
  else
    design_->for_each_part(stream_, over_tiles);
  return_expectations(q, out);
}

}  // namespace magva_cuda
