#pragma once
// Products with sparse rows. The packed form has the draws of one coefficient side by side: an entry of the
// design meets all draws with one contiguous load.
#include "core/vector.hpp"
#include "models/design_kernel.hpp"

namespace magva::detail {

class SparseKernel final : public DesignKernel {
 public:
  SparseKernel(SparseRows x, const Design& design) : DesignKernel(design), x_(x) {}

  Index block_rows() const override { return 8 * kPadding; }

  Index packed_size(Index draws) const override { return padded(x_.cols * draws); }
  void pack(const double* coefficients, Index draw, Index draws, double* packed) const override;
  void unpack(const double* packed, Index draw, Index draws, double* gradient) const override;
  void multiply(const RowBlock& block, const double* packed, Index draws, double* eta,
                Index stride) const override;
  void accumulate(const RowBlock& block, const double* residual, Index stride, Index draws,
                  double* packed_gradient) const override;

 private:
  template <int S>
  void multiply_draws(const RowBlock& block, const double* packed, Index draws, double* eta,
                      Index stride) const;
  template <int S>
  void accumulate_draws(const RowBlock& block, const double* residual, Index stride, Index draws,
                        double* packed) const;

  SparseRows x_;
};

}  // namespace magva::detail
