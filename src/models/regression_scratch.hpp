#pragma once
// What an evaluation of a regression writes to: its draws and gradients in packed form, and a column for each
// chunk of rows.
#include <algorithm>
#include <bit>
#include <vector>

#include "core/vector.hpp"
#include "magva/model.hpp"
#include "models/design_kernel.hpp"
#include "models/draw_vector_kernel.hpp"
#include "models/likelihood.hpp"

namespace magva::detail {

/// Row chunks worth having: each wants enough entries to be worth a thread's while, and all together enough
/// rows that adding up their gradients costs little. A power of two, so that the usual numbers of threads
/// share them evenly.
inline Index chunk_count(double entries, Index cols) {
  constexpr double kEntriesPerChunk = 65536.0;
  constexpr double kRowsPerChunk = 16.0;
  constexpr double kMostChunks = 64.0;
  const double chunks = std::min(
      {entries / kEntriesPerChunk, entries / (kRowsPerChunk * static_cast<double>(cols)), kMostChunks});
  return static_cast<Index>(std::bit_floor(static_cast<unsigned>(std::max(chunks, 1.0))));
}

inline constexpr Index kPageBytes = 4096;

/// Numbers of one chunk, and a page that none has: the processor fetches beyond what a chunk reads, up to the
/// end of a page, and would take from another chunk what that is writing.
inline constexpr Index apart(Index numbers) {
  return padded(numbers) + kPageBytes / static_cast<Index>(sizeof(double));
}

inline Index most_rows(const DesignKernel& kernel) {
  const DrawVectorKernel* vectors = kernel.draw_vectors();
  return std::max(kernel.block_rows(), vectors ? vectors->block_rows() : 0);
}

/// Everything of one column belongs to one chunk; columns are whole cache lines.
struct RegressionScratch final : Scratch {
  RegressionScratch(Index draws, Index chunk_total, const DesignKernel& kernel, Index prior_buffer)
      // A vector may have a lane to spare.
      : RegressionScratch(draws, chunk_total, most_rows(kernel), kernel.packed_size(draws + 1),
                          kernel.design().cols(), prior_buffer) {}

  RegressionScratch(Index draws, Index chunk_total, Index block_rows, Index packed_size, Index columns,
                    Index prior_buffer)
      : max_draws(draws),
        chunks(chunk_total),
        coefficients(padded(prior_buffer), draws),
        packed(packed_size),
        gradient(apart(packed_size), chunk_total),
        eta(apart(block_rows * std::max(draws, DrawVectorKernel::kDraws)), chunk_total),
        deltas(padded(columns), draws / 2 + 1),
        pair_products(apart(block_rows * (draws / 2 + 1)), chunk_total),
        response(apart(block_rows), chunk_total),
        weight(apart(block_rows), chunk_total),
        offset(apart(block_rows), chunk_total),
        status(apart(block_rows), chunk_total),
        shapes(static_cast<std::size_t>(draws + DrawVectorKernel::kDraws)),
        sums(static_cast<std::size_t>(chunk_total * (draws + kSumsApart))) {}

  BlockSums* chunk_sums(Index chunk) { return sums.data() + chunk * (max_draws + kSumsApart); }

  static constexpr Index kSumsApart = kPageBytes / static_cast<Index>(sizeof(BlockSums));

  Index max_draws;
  Index chunks;
  Matrix coefficients;  // the prior's buffers, one column per draw
  Vector packed;
  Matrix gradient;
  Matrix eta;
  Matrix deltas;         // centre and deltas of coefficients, if draws are antithetic
  Matrix pair_products;  // with the design, and those of residuals
  Matrix response;
  Matrix weight;
  Matrix offset;
  Matrix status;
  std::vector<Shape> shapes;
  std::vector<BlockSums> sums;
};

}  // namespace magva::detail
