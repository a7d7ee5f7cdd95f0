#pragma once
// Products of a dense design with a few draws, for likelihoods and rows that the fused kernels do not take: the design is read twice, at the
// speed of plain reads, where matrix products with so few columns are several times as slow.
#include <cstdint>

#include "device.cuh"
#include "fused.cuh"

namespace magva_cuda {

/// Rows whose part of the gradients is added up by one block.
inline constexpr std::int64_t kPartRows = 2048;

/// Columns of coefficients that kernels for so many draws read: 1, 4 or 8.
inline int draw_places(std::int64_t draws) { return draws == 1 ? 1 : draws <= 4 ? 4 : kMostDraws; }

/// predictors(k, i), K x rows, of the first K of draw_places(K) columns of `coefficients`, `stride` apart.
template <class Store, class Real>
void predict_few(const void* x, std::int64_t rows, std::int64_t stride, const Real* coefficients, int K, Real* predictors,
                 cudaStream_t stream);
/// parts(j, k) of each part of kPartRows rows: sum_i x_ij residuals(k, i); `stride` x K each.
template <class Store, class Real>
void accumulate_few(const void* x, std::int64_t rows, std::int64_t stride, const Real* residuals, int K, double* parts,
                    cudaStream_t stream);

}  // namespace magva_cuda
