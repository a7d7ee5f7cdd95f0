#include <algorithm>
#include <cstring>

#include "few_draws.cuh"
#include "rows.cuh"

namespace magva_cuda {

namespace {

cublasStatus_t gemm(cublasHandle_t blas, cublasOperation_t a, cublasOperation_t b, std::int64_t m, std::int64_t n, std::int64_t k,
                    const double* A, std::int64_t lda, const double* B, std::int64_t ldb, double* C, std::int64_t ldc) {
  const double one = 1;
  const double zero = 0;
  return cublasDgemm_64(blas, a, b, m, n, k, &one, A, lda, B, ldb, &zero, C, ldc);
}
cublasStatus_t gemm(cublasHandle_t blas, cublasOperation_t a, cublasOperation_t b, std::int64_t m, std::int64_t n, std::int64_t k,
                    const float* A, std::int64_t lda, const float* B, std::int64_t ldb, float* C, std::int64_t ldc) {
  const float one = 1;
  const float zero = 0;
  return cublasSgemm_64(blas, a, b, m, n, k, &one, A, lda, B, ldb, &zero, C, ldc);
}

cublasStatus_t gemv(cublasHandle_t blas, cublasOperation_t a, std::int64_t m, std::int64_t n, const double* A, std::int64_t lda,
                    const double* x, double* y) {
  const double one = 1;
  const double zero = 0;
  return cublasDgemv_64(blas, a, m, n, &one, A, lda, x, 1, &zero, y, 1);
}
cublasStatus_t gemv(cublasHandle_t blas, cublasOperation_t a, std::int64_t m, std::int64_t n, const float* A, std::int64_t lda,
                    const float* x, float* y) {
  const float one = 1;
  const float zero = 0;
  return cublasSgemv_64(blas, a, m, n, &one, A, lda, x, 1, &zero, y, 1);
}

/// Predictors of `rows` rows of x and K draws: K x rows.
template <class Real>
cublasStatus_t predict(cublasHandle_t blas, std::int64_t K, std::int64_t rows, std::int64_t cols, const Real* coefficients, const Real* x,
                       std::int64_t stride, Real* predictors) {
  if (K == 1) return gemv(blas, CUBLAS_OP_T, cols, rows, x, stride, coefficients, predictors);
  return gemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, K, rows, cols, coefficients, stride, x, stride, predictors, K);
}
/// Their gradients: cols x K.
template <class Real>
cublasStatus_t accumulate(cublasHandle_t blas, std::int64_t K, std::int64_t rows, std::int64_t cols, const Real* x, std::int64_t stride,
                          const Real* residuals, Real* gradient) {
  if (K == 1) return gemv(blas, CUBLAS_OP_N, cols, rows, x, stride, residuals, gradient);
  return gemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, cols, K, rows, x, stride, residuals, K, gradient, cols);
}

/// Of parts of gradients, at most, and how many there are at a time.
constexpr std::int64_t kPartBytes = std::int64_t{1} << 28;
constexpr std::int64_t kMostParts = 4096;
/// Of the predictors of a sparse design, at most.
constexpr std::int64_t kPredictorBytes = std::int64_t{1} << 31;

}  // namespace

/// Coefficients of `places` draws, those after `count` zero, then precisions and log scales.
template <class Real>
const Real* Rows::upload_draws(const magva_cuda_draws& draws, std::int64_t first, std::int64_t count, std::int64_t places) {
  const std::int64_t stride = design_->stride();
  const std::int64_t values = places * (stride + 2);
  const auto bytes = static_cast<std::int64_t>(sizeof(Real));
  auto* staged = reinterpret_cast<Real*>(staged_draws_.reserve(values * bytes));
  auto* on_device = reinterpret_cast<Real*>(draws_.reserve(values * bytes));
  const double* from = draws.coefficients + first * draws.coefficient_stride;
  const std::int64_t coefficients = resident_ ? 0 : places * stride;  // that come from the host
  if (resident_)
    spread_draws(from, draws.coefficient_stride, design_->cols(), count, on_device, stride, places, stream_);
  std::fill_n(staged, coefficients + 2 * places, Real(0));
  for (std::int64_t s = 0; s < count && !resident_; ++s)
    std::transform(from + s * draws.coefficient_stride, from + s * draws.coefficient_stride + design_->cols(), staged + s * stride,
                   [](double value) { return static_cast<Real>(value); });
  for (std::int64_t s = 0; s < count && likelihood_ == MAGVA_CUDA_GAUSSIAN; ++s) {
    const double* own = draws.own_values + (first + s) * MAGVA_CUDA_OWN_VALUES;
    staged[coefficients + s] = static_cast<Real>(own[0]);
    staged[coefficients + places + s] = static_cast<Real>(own[1]);
  }
  if (is_family())
    check(cudaMemcpyAsync(own_values_.reserve(count * MAGVA_CUDA_OWN_VALUES), draws.own_values + first * MAGVA_CUDA_OWN_VALUES,
                          static_cast<std::size_t>(count) * MAGVA_CUDA_OWN_VALUES * 8, cudaMemcpyHostToDevice, stream_),
          "to take draws");
  check(cudaMemcpyAsync(on_device + places * stride - coefficients, staged, static_cast<std::size_t>((coefficients + 2 * places) * bytes),
                        cudaMemcpyHostToDevice, stream_),
        "to take draws");
  return on_device;
}

void Rows::return_sums(std::int64_t first, std::int64_t count, int each, const magva_cuda_sums& out) const {
  const std::int64_t cols = design_->cols();
  const double* sums = out_sums_.data();
  double* gradient = out.gradient + first * out.gradient_stride;
  if (resident_)
    check(cudaMemcpy2DAsync(gradient, static_cast<std::size_t>(out.gradient_stride) * 8, gradient_.data(), static_cast<std::size_t>(cols) * 8,
                            static_cast<std::size_t>(cols) * 8, static_cast<std::size_t>(count), cudaMemcpyDeviceToDevice, stream_),
          "to keep gradients");
  for (std::int64_t s = 0; s < count; ++s) {
    if (!resident_) std::copy_n(out_.data() + s * cols, cols, gradient + s * out.gradient_stride);
    out.log_likelihood[first + s] = sums[each * s];
    out.by_own[2 * (first + s)] = sums[each * s + 1];
    out.by_own[2 * (first + s) + 1] = each > 2 ? sums[each * s + 2] : 0.;
  }
}

void Rows::fetch_sums(std::int64_t draws) {
  const std::int64_t values = draws * design_->cols();
  if (!resident_)
    check(cudaMemcpyAsync(out_.reserve(values), gradient_.data(), static_cast<std::size_t>(values) * 8, cudaMemcpyDeviceToHost, stream_),
          "to return gradients");
  check(cudaMemcpyAsync(out_sums_.reserve(kDrawSums * draws), sums_.data(), static_cast<std::size_t>(kDrawSums * draws) * 8,
                        cudaMemcpyDeviceToHost, stream_),
        "to return sums");
  check(cudaStreamSynchronize(stream_), "to evaluate rows");
}

template <class Real>
void Rows::evaluate_group(const FusedPlan& plan, const magva_cuda_draws& draws, std::int64_t first, std::int64_t count,
                          const magva_cuda_sums& out) {
  const std::int64_t stride = design_->stride();
  const std::int64_t cols = design_->cols();
  const std::int64_t places = plan.places;
  const Real* coefficients = upload_draws<Real>(draws, first, count, places);
  FusedPass pass{likelihood_,
                 0,
                 stride,
                 nullptr,
                 nullptr,
                 nullptr,
                 nullptr,
                 coefficients,
                 coefficients + places * stride,
                 coefficients + places * (stride + 1),
                 block_gradients_.reserve(plan.blocks * places * stride),
                 block_sums_.reserve(plan.blocks * places * 2),
                 false};
  for_each_part([&](const RowsInMemory& part) {
    const Observations rows = observations<Real>(part.first);
    pass.rows = part.count;
    pass.design = part.data;
    pass.response = rows.response;
    pass.weight = rows.weight;
    pass.offset = rows.offset;
    launch_fused(plan, pass, stream_);
    pass.add = true;
  });
  launch_reduce(pass.gradient, pass.sums, plan.blocks, plan.places, stride, cols,
                resident_ ? gradient_.reserve(kMostDraws * cols) : out_.reserve(kMostDraws * cols), out_sums_.reserve(2 * kMostDraws), stream_);
  check(cudaStreamSynchronize(stream_), "to evaluate rows");
  return_sums(first, count, 2, out);
}

template <class Store, class Real>
void Rows::evaluate_fused(const magva_cuda_draws& draws, const magva_cuda_sums& out) {
  for (std::int64_t first = 0; first < draws.draws;) {
    const FusedPlan plan = plan_fused<Store, Real>(design_->stride(), draws.draws - first, device_);
    const std::int64_t count = std::min<std::int64_t>(draws.draws - first, plan.places);
    evaluate_group<Real>(plan, draws, first, count, out);
    first += count;
  }
}

template <class Real>
void Rows::differentiate_tile(std::int64_t first, std::int64_t nb, Real* predictors, std::int64_t draws, const OwnOfDraws<Real>& own) {
  const int K = static_cast<int>(draws);
  double* chunk_sums = chunk_sums_.data();
  if (is_family())
    family_residuals<Real>(observations<double>(first), predictors, nb, K, own_values_.data(), chunk_sums, stream_);
  else
    residuals<Real>(observations<Real>(first), predictors, nb, K, own.precision, own.log_scale, chunk_sums, stream_);
  add_chunks(chunk_sums, (nb + kChunkRows - 1) / kChunkRows, kDrawSums * draws, sums_.data(), stream_);
}

template <class Real>
void Rows::evaluate_many(const magva_cuda_draws& draws, const magva_cuda_sums& out) {
  const std::int64_t K = draws.draws;
  const std::int64_t cols = design_->cols();
  const std::int64_t stride = design_->stride();
  const Real* coefficients = upload_draws<Real>(draws, 0, K, K);
  const std::int64_t most = tile_rows(K);
  const auto bytes = static_cast<std::int64_t>(sizeof(Real));
  auto* predictors = reinterpret_cast<Real*>(predictors_.reserve(K * most * bytes));
  auto* tile_gradient = reinterpret_cast<Real*>(tile_gradient_.reserve(K * cols * bytes));
  double* gradient = gradient_.reserve(K * cols);
  chunk_sums_.reserve((most / kChunkRows + 1) * kDrawSums * K);
  check(cudaMemsetAsync(gradient, 0, static_cast<std::size_t>(K * cols) * 8, stream_), "to clear memory");
  check(cudaMemsetAsync(sums_.reserve(kDrawSums * K), 0, static_cast<std::size_t>(kDrawSums * K) * 8, stream_), "to clear memory");
  for_each_part([&](const RowsInMemory& part) {
    for (std::int64_t first = 0; first < part.count; first += most) {
      const std::int64_t nb = std::min(most, part.count - first);
      const Real* x = tile_as<Real>(part.data, first, nb);
      check(predict(blas(), K, nb, cols, coefficients, x, stride, predictors), "to find predictors");
      differentiate_tile<Real>(part.first + first, nb, predictors, K, {coefficients + K * stride, coefficients + K * (stride + 1)});
      check(accumulate(blas(), K, nb, cols, x, stride, predictors, tile_gradient), "to find gradients");
      add_to(tile_gradient, K * cols, gradient, stream_);
    }
  });
  fetch_sums(K);
  return_sums(0, K, kDrawSums, out);
}

template <class Store, class Real>
void Rows::evaluate_few(const magva_cuda_draws& draws, const magva_cuda_sums& out) {
  const std::int64_t K = draws.draws;
  const std::int64_t cols = design_->cols();
  const std::int64_t stride = design_->stride();
  const std::int64_t places = draw_places(K);
  const Real* coefficients = upload_draws<Real>(draws, 0, K, places);
  const OwnOfDraws<Real> own{coefficients + places * stride, coefficients + places * (stride + 1)};
  double* gradient = gradient_.reserve(K * cols);
  auto* tile_gradient = reinterpret_cast<double*>(tile_gradient_.reserve(K * cols * 8));
  check(cudaMemsetAsync(gradient, 0, static_cast<std::size_t>(K * cols) * 8, stream_), "to clear memory");
  check(cudaMemsetAsync(sums_.reserve(kDrawSums * K), 0, static_cast<std::size_t>(kDrawSums * K) * 8, stream_), "to clear memory");
  const std::int64_t most = std::clamp<std::int64_t>(kPartBytes / (8 * K * stride), 1, kMostParts) * kPartRows;
  for_each_part([&](const RowsInMemory& part) {
    for (std::int64_t first = 0; first < part.count; first += most) {
      const std::int64_t nb = std::min(most, part.count - first);
      const std::int64_t parts = (nb + kPartRows - 1) / kPartRows;
      const Store* x = static_cast<const Store*>(part.data) + first * stride;
      auto* predictors = reinterpret_cast<Real*>(predictors_.reserve(K * nb * static_cast<std::int64_t>(sizeof(Real))));
      chunk_sums_.reserve((nb / kChunkRows + 1) * kDrawSums * K);
      predict_few<Store, Real>(x, nb, stride, coefficients, static_cast<int>(K), predictors, stream_);
      differentiate_tile<Real>(part.first + first, nb, predictors, K, own);
      double* gradients = block_gradients_.reserve(parts * K * stride);
      accumulate_few<Store, Real>(x, nb, stride, predictors, static_cast<int>(K), gradients, stream_);
      launch_reduce(gradients, nullptr, static_cast<int>(parts), static_cast<int>(K), stride, cols, tile_gradient, nullptr, stream_);
      add_to(tile_gradient, K * cols, gradient, stream_);
    }
  });
  fetch_sums(K);
  return_sums(0, K, kDrawSums, out);
}

void Rows::evaluate_sparse(const magva_cuda_draws& draws, std::int64_t first, std::int64_t count, const magva_cuda_sums& out) {
  const std::int64_t cols = design_->cols();
  const std::int64_t stride = design_->stride();
  const std::int64_t rows = design_->rows();
  const int K = static_cast<int>(count);
  const double* coefficients = upload_draws<double>(draws, first, count, count);
  auto* predictors = reinterpret_cast<double*>(predictors_.reserve(K * rows * 8));
  double* gradient = gradient_.reserve(K * cols);
  chunk_sums_.reserve((rows / kChunkRows + 1) * kDrawSums * K);
  check(cudaMemsetAsync(sums_.reserve(kDrawSums * K), 0, static_cast<std::size_t>(kDrawSums * K) * 8, stream_), "to clear memory");
  sparse_predict(design_->by_rows(), rows, coefficients, stride, K, predictors, stream_);
  differentiate_tile<double>(0, rows, predictors, K, {coefficients + K * stride, coefficients + K * (stride + 1)});
  sparse_accumulate(design_->by_columns(), cols, predictors, K, gradient, stream_);
  fetch_sums(K);
  return_sums(first, count, kDrawSums, out);
}

template <class Store, class Real>
void Rows::evaluate_dense(const magva_cuda_draws& draws, const magva_cuda_sums& out) {
  const int most = fused_draws<Store, Real>(design_->stride());
  if (!is_family() && draws.draws <= 2 * most)
    evaluate_fused<Store, Real>(draws, out);
  else if (draws.draws <= kMostDraws)
    evaluate_few<Store, Real>(draws, out);
  else
    evaluate_many<Real>(draws, out);
}

void Rows::evaluate_resident(const magva_cuda_draws& draws, const magva_cuda_sums& out) {
  resident_ = true;
  try {
    evaluate(draws, out);
  } catch (...) {
    resident_ = false;
    throw;
  }
  resident_ = false;
}

void Rows::evaluate(const magva_cuda_draws& draws, const magva_cuda_sums& out) {
  check(cudaSetDevice(device_.device), "to be chosen");
  current_ = &all_;
  if (draws.rows != nullptr) {
    choose(draws.rows, draws.row_count);
    current_ = &chosen_;
  }
  switch (design_->stored()) {
    case Stored::float64:
      return evaluate_dense<double, double>(draws, out);
    case Stored::float32:
      return evaluate_dense<float, float>(draws, out);
    case Stored::int8:
      return single_ ? evaluate_dense<signed char, float>(draws, out) : evaluate_dense<signed char, double>(draws, out);
    case Stored::sparse:
      break;
  }
  const std::int64_t most = std::max<std::int64_t>(1, kPredictorBytes / (8 * design_->rows()));
  for (std::int64_t first = 0; first < draws.draws; first += most)
    evaluate_sparse(draws, first, std::min(most, draws.draws - first), out);
}

}  // namespace magva_cuda
