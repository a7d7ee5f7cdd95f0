#pragma once
// What is done to tiles of rows between the matrix products: many draws at once, sparse designs, and expectations. A tile of nb rows and K
// predictors each is a matrix of K rows and nb columns.
#include <cstdint>

#include "device.cuh"
#include "families.cuh"

namespace magva_cuda {

struct Observations {
  int likelihood;
  const void* response;
  const void* weight;  // null: 1 each
  const void* offset;  // null: none
  const void* status;  // null: no row is censored
};

/// The marginal of a family's own coordinate, as a rule.
struct FamilyMarginal {
  double variance;
  const magva_cuda_own_node* nodes;
  std::int64_t node_count;
};

/// to[i] = from[i] in another precision.
template <class From, class To>
void convert(const From* from, std::int64_t count, To* to, cudaStream_t stream);
/// The same into int8; sets *inexact where a value is none.
template <class From>
void convert_exactly(const From* from, std::int64_t count, signed char* to, int* inexact, cudaStream_t stream);
/// to[i] = from[rows[i]].
template <class T>
void gather(const T* from, const std::int64_t* rows, std::int64_t count, T* to, cudaStream_t stream);
/// The same for rows of a design; they begin at multiples of 16 bytes.
void gather_rows(const void* from, const std::int64_t* rows, std::int64_t count, std::int64_t row_bytes, void* to, cudaStream_t stream);
/// Columns of coefficients in another precision, filled up with zeros to `stride` entries and `places` columns.
template <class Real>
void spread_draws(const double* from, std::int64_t from_stride, std::int64_t cols, std::int64_t count, Real* to, std::int64_t stride,
                  std::int64_t places, cudaStream_t stream);
/// to += from.
template <class From>
void add_to(const From* from, std::int64_t count, double* to, cudaStream_t stream);

/// Rows of a chunk whose sums are added up by one block.
inline constexpr std::int64_t kChunkRows = 1024;
/// Of each draw: log likelihood, and by the likelihood's own coordinates.
inline constexpr int kDrawSums = 3;
/// Turns predictors into weighted derivatives by them; kDrawSums of each chunk of rows and each draw.
template <class Real>
void residuals(const Observations& rows, Real* predictors, std::int64_t nb, int draws, const Real* precision, const Real* log_scale,
               double* chunk_sums, cudaStream_t stream);
/// The same for the likelihoods of families.cuh; `rows` are in double precision.
template <class Real>
void family_residuals(const Observations& rows, Real* predictors, std::int64_t nb, int draws, const double* own_values,
                      double* chunk_sums, cudaStream_t stream);
/// out[i] += sum over chunks of sums[chunk * count + i], in an order that depends on their number alone.
void add_chunks(const double* sums, std::int64_t chunks, std::int64_t count, double* out, cudaStream_t stream);

struct SparseOnDevice {
  const std::int64_t* starts;
  const std::int32_t* indices;
  const double* values;
};
/// predictors(k, i) = row i times column k of `coefficients`.
void sparse_predict(const SparseOnDevice& by_rows, std::int64_t rows, const double* coefficients, std::int64_t cols, int draws,
                    double* predictors, cudaStream_t stream);
/// gradient(j, k) = sum_i x_ij residual(k, i), from the columns of the design.
void sparse_accumulate(const SparseOnDevice& by_columns, std::int64_t cols, const double* residual, int draws, double* gradient,
                       cudaStream_t stream);
/// Rows first .. first + nb - 1, dense; `out` is zero on entry.
void densify(const SparseOnDevice& by_rows, std::int64_t first, std::int64_t nb, double* out, std::int64_t stride, cudaStream_t stream);

/// variance_i = sum_k predictors(lead + k, i)^2 + sum_j x_ij^2 square_j.
void variances(const double* predictors, std::int64_t K, std::int64_t lead, const double* x, std::int64_t stride, std::int64_t cols,
               const double* square, std::int64_t nb, double* variance, cudaStream_t stream);
/// Predictor 0 becomes the slope, predictor 1 the derivative by the covariance with log sigma where there is one; sums of each chunk: value,
/// and by log sigma's mean and variance.
void differentiate(const Observations& rows, OwnMarginal own, bool with_covariance, double* predictors, std::int64_t K, std::int64_t nb,
                   const double* variance, double* curvature, double* chunk_sums, cudaStream_t stream);
void differentiate_family(const Observations& rows, const FamilyMarginal& own, const NormalRules& rules, bool with_covariance,
                          double* predictors, std::int64_t K, std::int64_t nb, const double* variance, double* curvature,
                          double* chunk_sums, cudaStream_t stream);
/// predictors(lead + k, i) *= curvature_i.
void scale_predictors(double* predictors, std::int64_t K, std::int64_t lead, std::int64_t nb, const double* curvature, cudaStream_t stream);
/// Chunks into which weighted_squares cuts the rows of a tile.
inline constexpr std::int64_t kSquareChunks = 64;
/// sums[chunk * cols + j] = sum over the chunk's rows of weight_i x_ij^2.
void weighted_squares(const double* x, std::int64_t stride, std::int64_t cols, std::int64_t nb, const double* weight, double* sums,
                      cudaStream_t stream);
/// to(j, i) = x_ij sqrt(weight_i).
void scale_rows(const double* x, std::int64_t stride, std::int64_t nb, const double* weight, double* to, cudaStream_t stream);

}  // namespace magva_cuda
