#include "models/sparse_kernel.hpp"

namespace magva::detail {

void SparseKernel::pack(const double* coefficients, Index draw, Index draws, double* packed) const {
  for (Index j = 0; j < x_.cols; ++j) packed[j * draws + draw] = coefficients[j];
}

void SparseKernel::unpack(const double* packed, Index draw, Index draws, double* gradient) const {
  for (Index j = 0; j < x_.cols; ++j) gradient[j] = packed[j * draws + draw];
}

template <int S>
void SparseKernel::multiply_draws(const RowBlock& block, const double* packed, Index draws, double* eta,
                                  Index stride) const {
  for (Index i = 0; i < block.size; ++i) {
    const Index row = block.row(i);
    double sums[S] = {};
    for (std::int64_t k = x_.starts[row]; k < x_.starts[row + 1]; ++k) {
      const double* beta = packed + static_cast<Index>(x_.columns[k]) * draws;
      for (int s = 0; s < S; ++s) sums[s] = multiply_add(x_.values[k], beta[s], sums[s]);
    }
    for (int s = 0; s < S; ++s) eta[s * stride + i] = sums[s];
  }
}

template <int S>
void SparseKernel::accumulate_draws(const RowBlock& block, const double* residual, Index stride, Index draws,
                                    double* packed) const {
  for (Index i = 0; i < block.size; ++i) {
    const Index row = block.row(i);
    double weights[S];
    for (int s = 0; s < S; ++s) weights[s] = residual[s * stride + i];
    for (std::int64_t k = x_.starts[row]; k < x_.starts[row + 1]; ++k) {
      double* sums = packed + static_cast<Index>(x_.columns[k]) * draws;
      for (int s = 0; s < S; ++s) sums[s] = multiply_add(x_.values[k], weights[s], sums[s]);
    }
  }
}

void SparseKernel::multiply(const RowBlock& block, const double* packed, Index draws, double* eta,
                            Index stride) const {
  Index s = 0;
  for (; s + 8 <= draws; s += 8) multiply_draws<8>(block, packed + s, draws, eta + s * stride, stride);
  for (; s + 2 <= draws; s += 2) multiply_draws<2>(block, packed + s, draws, eta + s * stride, stride);
  for (; s < draws; ++s) multiply_draws<1>(block, packed + s, draws, eta + s * stride, stride);
}

void SparseKernel::accumulate(const RowBlock& block, const double* residual, Index stride, Index draws,
                              double* packed_gradient) const {
  Index s = 0;
  for (; s + 8 <= draws; s += 8)
    accumulate_draws<8>(block, residual + s * stride, stride, draws, packed_gradient + s);
  for (; s + 2 <= draws; s += 2)
    accumulate_draws<2>(block, residual + s * stride, stride, draws, packed_gradient + s);
  for (; s < draws; ++s)
    accumulate_draws<1>(block, residual + s * stride, stride, draws, packed_gradient + s);
}

}  // namespace magva::detail
