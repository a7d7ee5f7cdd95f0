#pragma once
// How the draws of an evaluation stand in the packed coefficients and gradients of a design's kernels.
#include <algorithm>
#include <array>

#include "models/antithetic_draws.hpp"
#include "models/design_kernel.hpp"
#include "models/draw_pack_kernel.hpp"
#include "models/prior.hpp"
#include "models/regression_scratch.hpp"

namespace magva::detail {

/// How draws go through the products with a design: packs of them first, then columns of one draw each, or of
/// the centre and the deltas of antithetic pairs.
class DrawLayout {
 public:
  static DrawLayout plain(const DesignKernel& kernel, Index draws) {
    constexpr Index kEach = DrawPackKernel::kDraws;
    constexpr Index kSpare = kEach / 8;  // lanes that a pack is still worth having with
    const Index packs = kernel.draw_packs() ? (draws + kSpare) / kEach : 0;
    const Index in_packs = std::min(draws, packs * kEach);
    return {kernel, packs, in_packs, draws - in_packs, 0};
  }
  static DrawLayout antithetic(const DesignKernel& kernel, Index draws) {
    return {kernel, 0, 0, draws / 2 + 1, draws / 2};
  }

  const DesignKernel& kernel() const { return *kernel_; }
  Index block_rows() const { return packs_ > 0 ? pack_kernel().block_rows() : kernel_->block_rows(); }
  const DrawPackKernel& pack_kernel() const { return *kernel_->draw_packs(); }
  Index packs() const { return packs_; }
  Index in_packs() const { return in_packs_; }
  /// Which draw a lane of a pack has; one to spare has the last draw once more.
  Index draw_in(Index pack, Index lane) const {
    return std::min(pack * DrawPackKernel::kDraws + lane, in_packs_ - 1);
  }
  Index columns() const { return columns_; }
  /// 0 if draws are not in antithetic pairs.
  Index pairs() const { return pairs_; }

  /// Where packed numbers begin.
  Index pack_at(Index pack) const { return packs_ == 0 ? 0 : pack * pack_kernel().packed_size(); }
  Index columns_at() const { return pack_at(packs_); }
  Index packed_size() const { return columns_at() + kernel_->packed_size(columns_); }

 private:
  DrawLayout(const DesignKernel& kernel, Index packs, Index in_packs, Index columns, Index pairs)
      : kernel_(&kernel), packs_(packs), in_packs_(in_packs), columns_(columns), pairs_(pairs) {}
  const DesignKernel* kernel_;
  Index packs_;
  Index in_packs_;  // draws
  Index columns_;
  Index pairs_;
};

inline void pack_draws(const DrawLayout& layout, const CoefficientPrior& prior, ConstMatrixRef theta,
                       RegressionScratch& scratch) {
  constexpr Index kEach = DrawPackKernel::kDraws;
  const auto coefficients = [&](Index s) {
    return prior.coefficients_at(theta.col(s).data(), scratch.coefficients.col(s).data());
  };
  std::fill_n(scratch.shapes.begin() + layout.in_packs(), layout.packs() * kEach - layout.in_packs(),
              scratch.shapes[static_cast<std::size_t>(theta.cols() - 1)]);
  for (Index pack = 0; pack < layout.packs(); ++pack) {
    std::array<const double*, kEach> of_pack;
    for (Index s = 0; s < kEach; ++s)
      of_pack[static_cast<std::size_t>(s)] = coefficients(layout.draw_in(pack, s));
    layout.pack_kernel().pack(of_pack, scratch.packed.data() + layout.pack_at(pack));
  }
  for (Index s = layout.in_packs(); s < theta.cols(); ++s)
    layout.kernel().pack(coefficients(s), s - layout.in_packs(), layout.columns(),
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
  constexpr Index kEach = DrawPackKernel::kDraws;
  const double* packed = scratch.gradient.col(0).data();
  for (Index pack = 0; pack < layout.packs(); ++pack) {
    std::array<double*, kEach> of_pack;
    for (Index s = 0; s < kEach; ++s)
      of_pack[static_cast<std::size_t>(s)] = gradient.col(layout.draw_in(pack, s)).data();
    layout.pack_kernel().unpack(packed + layout.pack_at(pack), of_pack);
  }
  for (Index s = layout.in_packs(); s < gradient.cols(); ++s)
    layout.kernel().unpack(packed + layout.columns_at(), s - layout.in_packs(), layout.columns(),
                           gradient.col(s).data());
}

/// The pairs' half-differences go to the first columns of `gradient`, the mean to the one after them.
inline void unpack_pairs(const DesignKernel& kernel, RegressionScratch& scratch, MatrixRef gradient) {
  const Index pairs = gradient.cols() / 2;
  for (Index k = 0; k <= pairs; ++k)
    kernel.unpack(scratch.gradient.col(0).data(), k, pairs + 1, gradient.col(k == 0 ? pairs : k - 1).data());
}

}  // namespace magva::detail
