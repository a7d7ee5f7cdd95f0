#pragma once
// What an evaluation of a regression writes to: its draws and gradients in packed form, and a column for each
// lane of rows.
#include <algorithm>
#include <bit>
#include <vector>

#include "core/vector.hpp"
#include "magva/likelihood.hpp"
#include "magva/model.hpp"
#include "models/design_kernel.hpp"
#include "models/draw_pack_kernel.hpp"

namespace magva::detail {

/// Lanes worth having: each wants enough entries to be worth a thread's while, and all together enough rows
/// that adding up their gradients costs little. A power of two, so that the usual numbers of threads share
/// them evenly.
inline Index lane_count(double entries, Index cols) {
  constexpr double kEntriesPerLane = 65536.0;
  constexpr double kRowsPerLane = 16.0;
  constexpr double kMostLanes = 64.0;
  const double lanes =
      std::min({entries / kEntriesPerLane, entries / (kRowsPerLane * static_cast<double>(cols)), kMostLanes});
  return static_cast<Index>(std::bit_floor(static_cast<unsigned>(std::max(lanes, 1.0))));
}

inline constexpr Index kPageBytes = 4096;

/// Numbers of one lane, and a page that none has: the processor fetches beyond what a lane reads, up to the
/// end of a page, and would take from another lane what that is writing.
inline constexpr Index apart(Index numbers) {
  return padded(numbers) + kPageBytes / static_cast<Index>(sizeof(double));
}

inline Index most_rows(const DesignKernel& kernel) {
  const DrawPackKernel* packs = kernel.draw_packs();
  return std::max(kernel.block_rows(), packs ? packs->block_rows() : 0);
}

/// Everything of one column belongs to one lane; columns are whole cache lines.
struct RegressionScratch final : Scratch {
  RegressionScratch(Index draws, Index lane_total, const DesignKernel& kernel, Index prior_buffer)
      // A pack may have a lane to spare.
      : RegressionScratch(draws, lane_total, most_rows(kernel), kernel.packed_size(draws + 1),
                          kernel.design().cols(), prior_buffer) {}

  RegressionScratch(Index draws, Index lane_total, Index block_rows, Index packed_size, Index columns,
                    Index prior_buffer)
      : max_draws(draws),
        lanes(lane_total),
        coefficients(padded(prior_buffer), draws),
        packed(packed_size),
        gradient(apart(packed_size), lane_total),
        eta(apart(block_rows * std::max(draws, DrawPackKernel::kDraws)), lane_total),
        halves(padded(columns), draws / 2 + 1),
        half_products(apart(block_rows * (draws / 2 + 1)), lane_total),
        response(apart(block_rows), lane_total),
        weight(apart(block_rows), lane_total),
        shapes(static_cast<std::size_t>(draws + DrawPackKernel::kDraws)),
        sums(static_cast<std::size_t>(lane_total * (draws + kSumsApart))) {}

  BlockSums* lane_sums(Index lane) { return sums.data() + lane * (max_draws + kSumsApart); }

  static constexpr Index kSumsApart = kPageBytes / static_cast<Index>(sizeof(BlockSums));

  Index max_draws;
  Index lanes;
  Matrix coefficients;  // the prior's buffers, one column a draw
  Vector packed;
  Matrix gradient;
  Matrix eta;
  Matrix halves;         // of coefficients and gradients, where draws are mirrored
  Matrix half_products;  // with the design, and those of residuals
  Matrix response;
  Matrix weight;
  std::vector<Shape> shapes;
  std::vector<BlockSums> sums;
};

}  // namespace magva::detail
