#pragma once
// The two products of a regression with a block of rows of its design, for all draws at once.
#include <algorithm>
#include <memory>
#include <utility>

#include "core/vector.hpp"
#include "magva/regression.hpp"

namespace magva::detail {

/// Rows begin .. begin + size - 1 of `chosen`, or of the design itself where `chosen` is null.
struct RowBlock {
  const Index* chosen;
  Index begin;
  Index size;
  Index row(Index i) const { return chosen ? chosen[begin + i] : begin + i; }
};

/// Rows of a block of about so many bytes: a multiple of 8, and not so many that the draws beside them would
/// fill the cache.
inline Index rows_in_bytes(Index block_bytes, Index row_bytes) {
  return std::clamp<Index>(block_bytes / std::max<Index>(1, row_bytes) / kPadding, 1, 16) * kPadding;
}

class DrawVectorKernel;

/// Coefficients and gradients go in and out of a packed form that suits the design; `draws` is the same for
/// all calls on one packed buffer. No call allocates.
class DesignKernel {
 public:
  explicit DesignKernel(Design design) : design_(std::move(design)) {}
  virtual ~DesignKernel() = default;

  const Design& design() const { return design_; }
  /// Rows of a block that stays in cache, a multiple of 8.
  virtual Index block_rows() const = 0;

  virtual Index packed_size(Index draws) const = 0;
  virtual void pack(const double* coefficients, Index draw, Index draws, double* packed) const = 0;
  virtual void unpack(const double* packed, Index draw, Index draws, double* gradient) const = 0;

  /// eta(i, s) = x_i' beta_s; column s starts at eta + s * stride.
  virtual void multiply(const RowBlock& block, const double* packed, Index draws, double* eta,
                        Index stride) const = 0;
  /// gradient_s += sum_i x_i residual(i, s).
  virtual void accumulate(const RowBlock& block, const double* residual, Index stride, Index draws,
                          double* packed_gradient) const = 0;

  /// The same for vectors of draws, where the design has a faster way for these; else null.
  virtual const DrawVectorKernel* draw_vectors() const { return nullptr; }

 private:
  Design design_;
};

std::shared_ptr<const DesignKernel> make_kernel(const Design& design);

}  // namespace magva::detail
