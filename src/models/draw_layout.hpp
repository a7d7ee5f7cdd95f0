#pragma once
// How the draws of an evaluation stand in the packed coefficients and gradients of a design's kernels.
#include <algorithm>
#include <array>

#include "models/antithetic_draws.hpp"
#include "models/design_kernel.hpp"
#include "models/draw_vector_kernel.hpp"
#include "models/prior.hpp"
#include "models/regression_scratch.hpp"

namespace magva::detail {

/// How draws go through the products with a design: vectors of them first, then columns of one draw each, or
/// of the centre and the deltas of antithetic pairs.
class DrawLayout {
 public:
  static DrawLayout plain(const DesignKernel& kernel, Index draws) {
    constexpr Index kEach = DrawVectorKernel::kDraws;
    constexpr Index kSpare = kEach / 8;  // lanes that a vector is still worth having with
    const Index vectors = kernel.draw_vectors() ? (draws + kSpare) / kEach : 0;
    const Index in_vectors = std::min(draws, vectors * kEach);
    return {kernel, vectors, in_vectors, draws - in_vectors, 0};
  }
  static DrawLayout antithetic(const DesignKernel& kernel, Index draws) {
    return {kernel, 0, 0, draws / 2 + 1, draws / 2};
  }

  const DesignKernel& kernel() const { return *kernel_; }
  Index block_rows() const { return vectors_ > 0 ? vector_kernel().block_rows() : kernel_->block_rows(); }
  const DrawVectorKernel& vector_kernel() const { return *kernel_->draw_vectors(); }
  Index vectors() const { return vectors_; }
  Index in_vectors() const { return in_vectors_; }
  /// Which draw a lane of a vector has; one to spare has the last draw once more.
  Index draw_in(Index vector, Index lane) const {
    return std::min(vector * DrawVectorKernel::kDraws + lane, in_vectors_ - 1);
  }
  Index columns() const { return columns_; }
  /// 0 if draws are not in antithetic pairs.
  Index pairs() const { return pairs_; }

  /// Where packed numbers begin.
  Index vector_at(Index vector) const { return vectors_ == 0 ? 0 : vector * vector_kernel().packed_size(); }
  Index columns_at() const { return vector_at(vectors_); }
  Index packed_size() const { return columns_at() + kernel_->packed_size(columns_); }

 private:
  DrawLayout(const DesignKernel& kernel, Index vectors, Index in_vectors, Index columns, Index pairs)
      : kernel_(&kernel), vectors_(vectors), in_vectors_(in_vectors), columns_(columns), pairs_(pairs) {}
  const DesignKernel* kernel_;
  Index vectors_;
  Index in_vectors_;  // draws
  Index columns_;
  Index pairs_;
};

inline void pack_draws(const DrawLayout& layout, const CoefficientPrior& prior, ConstMatrixRef theta,
                       RegressionScratch& scratch) {
  constexpr Index kEach = DrawVectorKernel::kDraws;
  const auto coefficients = [&](Index s) {
    return prior.coefficients_at(theta.col(s).data(), scratch.coefficients.col(s).data());
  };
  std::fill_n(scratch.shapes.begin() + layout.in_vectors(), layout.vectors() * kEach - layout.in_vectors(),
              scratch.shapes[static_cast<std::size_t>(theta.cols() - 1)]);
  for (Index vector = 0; vector < layout.vectors(); ++vector) {
    std::array<const double*, kEach> of_vector;
    for (Index s = 0; s < kEach; ++s)
      of_vector[static_cast<std::size_t>(s)] = coefficients(layout.draw_in(vector, s));
    layout.vector_kernel().pack(of_vector, scratch.packed.data() + layout.vector_at(vector));
  }
  for (Index s = layout.in_vectors(); s < theta.cols(); ++s)
    layout.kernel().pack(coefficients(s), s - layout.in_vectors(), layout.columns(),
                         scratch.packed.data() + layout.columns_at());
}

inline void pack_pairs(const DesignKernel& kernel, ConstMatrixRef theta, RegressionScratch& scratch) {
  const Index pairs = theta.cols() / 2;
  to_centre_and_deltas(theta.data(), theta.outerStride(), kernel.design().cols(), pairs,
                       scratch.deltas.data(), scratch.deltas.rows());
  for (Index k = 0; k <= pairs; ++k)
    kernel.pack(scratch.deltas.col(k).data(), k, pairs + 1, scratch.packed.data());
}

inline void unpack_draws(const DrawLayout& layout, RegressionScratch& scratch, MatrixRef gradient) {
  constexpr Index kEach = DrawVectorKernel::kDraws;
  const double* packed = scratch.gradient.col(0).data();
  for (Index vector = 0; vector < layout.vectors(); ++vector) {
    std::array<double*, kEach> of_vector;
    for (Index s = 0; s < kEach; ++s)
      of_vector[static_cast<std::size_t>(s)] = gradient.col(layout.draw_in(vector, s)).data();
    layout.vector_kernel().unpack(packed + layout.vector_at(vector), of_vector);
  }
  for (Index s = layout.in_vectors(); s < gradient.cols(); ++s)
    layout.kernel().unpack(packed + layout.columns_at(), s - layout.in_vectors(), layout.columns(),
                           gradient.col(s).data());
}

/// The pairs' half-differences go to the first columns of `gradient`, the mean to the one after them.
inline void unpack_pairs(const DesignKernel& kernel, RegressionScratch& scratch, MatrixRef gradient) {
  const Index pairs = gradient.cols() / 2;
  for (Index k = 0; k <= pairs; ++k)
    kernel.unpack(scratch.gradient.col(0).data(), k, pairs + 1, gradient.col(k == 0 ? pairs : k - 1).data());
}

}  // namespace magva::detail
