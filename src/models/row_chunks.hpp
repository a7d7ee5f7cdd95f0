#pragma once
// How a regression is evaluated: its rows are cut into chunks, which threads share, and each chunk goes over
// its rows a block at a time.
#include <algorithm>

#include "magva/regression.hpp"
#include "models/draw_layout.hpp"
#include "models/regression_scratch.hpp"
#include "models/row_sample.hpp"

namespace magva::detail {

/// What a chunk reads.
struct Observations {
  const double* response;
  const double* weight;
  bool unweighted;
  const double* offset;  // null: none
  const double* status;  // null: no row is censored
};

/// The rows of one chunk, a block at a time.
class RowChunkWork {
 public:
  RowChunkWork(const DrawLayout& layout, const Likelihood& likelihood, const RowSample& sample,
               const Observations& observations, RegressionScratch& scratch, Index draws)
      : layout_(layout),
        likelihood_(likelihood),
        sample_(sample),
        observations_(observations),
        scratch_(scratch),
        draws_(draws) {}

  /// Works on a copy: the caller's thread keeps writing to the stack beside the original.
  void operator()(Index chunk) const { RowChunkWork(*this).go_over(chunk); }

 private:
  void go_over(Index chunk) const {
    const Index step = layout_.block_rows();
    const Range eights = piece((sample_.count + kPadding - 1) / kPadding, scratch_.chunks, chunk);
    const Index end = std::min(eights.end * kPadding, sample_.count);
    BlockSums* sums = scratch_.chunk_sums(chunk);
    std::fill_n(scratch_.gradient.col(chunk).data(), layout_.packed_size(), 0.0);
    std::fill_n(sums, draws_, BlockSums{});
    for (Index row = eights.begin * kPadding; row < end; row += step) {
      const RowBlock block{sample_.rows, row, std::min(step, end - row)};
      const ResponseBlock responses = responses_of(block, chunk);
      for (Index vector = 0; vector < layout_.vectors(); ++vector)
        take_vector(block, responses, vector, chunk);
      if (layout_.columns() > 0) take_columns(block, responses, chunk);
    }
    for (Index vector = 0; vector < layout_.vectors(); ++vector)
      likelihood_.close(sums[vector * DrawVectorKernel::kDraws]);
    for (Index s = layout_.in_vectors(); s < draws_; ++s) likelihood_.close(sums[s]);
  }

  void take_vector(const RowBlock& block, ResponseBlock responses, Index vector, Index chunk) const {
    const Index at = layout_.vector_at(vector);
    const Index draw = vector * DrawVectorKernel::kDraws;
    double* eta = scratch_.eta.col(chunk).data();
    responses.rows = block.size;
    layout_.vector_kernel().multiply(block, scratch_.packed.data() + at, eta);
    if (const double* offset = offsets_of(block, chunk))
      for (Index i = 0; i < block.size; ++i)
        for (Index s = 0; s < DrawVectorKernel::kDraws; ++s)
          eta[i * DrawVectorKernel::kDraws + s] += offset[i];
    likelihood_.evaluate_vector(responses, eta, scratch_.shapes.data() + draw,
                                scratch_.chunk_sums(chunk)[draw]);
    layout_.vector_kernel().accumulate(block, eta, scratch_.gradient.col(chunk).data() + at);
  }

  void take_columns(const RowBlock& block, const ResponseBlock& responses, Index chunk) const {
    const DesignKernel& kernel = layout_.kernel();
    const Index step = layout_.block_rows();
    const Index columns = layout_.columns();
    const Index pairs = layout_.pairs();
    const Index first = layout_.in_vectors();
    double* eta = scratch_.eta.col(chunk).data();
    double* products = pairs > 0 ? scratch_.pair_products.col(chunk).data() : eta;
    kernel.multiply(block, scratch_.packed.data() + layout_.columns_at(), columns, products, step);
    clear_padding(block.size, products, step);
    if (pairs > 0) from_centre_and_deltas(products, step, padded(block.size), pairs, eta, step);
    if (const double* offset = offsets_of(block, chunk))
      for (Index s = 0; s < draws_ - first; ++s)
        for (Index i = 0; i < block.size; ++i) eta[s * step + i] += offset[i];
    likelihood_.evaluate_block(responses, eta, step, draws_ - first, scratch_.shapes.data() + first,
                               scratch_.chunk_sums(chunk) + first);
    if (pairs > 0) mean_and_half_differences(eta, step, padded(block.size), pairs, products, step);
    kernel.accumulate(block, products, step, columns,
                      scratch_.gradient.col(chunk).data() + layout_.columns_at());
  }

  void clear_padding(Index rows, double* products, Index step) const {
    for (Index s = 0; s < layout_.columns(); ++s)
      std::fill(products + s * step + rows, products + s * step + padded(rows), 0.0);
  }

  /// Filled up to a multiple of 8 rows.
  ResponseBlock responses_of(const RowBlock& block, Index chunk) const {
    if (!block.chosen && sample_.scale == 1.0)
      return {observations_.response + block.begin, observations_.weight + block.begin, padded(block.size),
              observations_.unweighted, observations_.status ? observations_.status + block.begin : nullptr};
    double* response = scratch_.response.col(chunk).data();
    double* weight = scratch_.weight.col(chunk).data();
    for (Index i = 0; i < block.size; ++i) {
      response[i] = observations_.response[block.row(i)];
      weight[i] = observations_.weight[block.row(i)] * sample_.scale;
    }
    std::fill(response + block.size, response + padded(block.size), 0.0);
    std::fill(weight + block.size, weight + padded(block.size), 0.0);
    return {response, weight, padded(block.size), false,
            gather(observations_.status, block, scratch_.status, chunk)};
  }

  const double* offsets_of(const RowBlock& block, Index chunk) const {
    if (!observations_.offset || !block.chosen)
      return observations_.offset ? observations_.offset + block.begin : nullptr;
    return gather(observations_.offset, block, scratch_.offset, chunk);
  }

  /// The block's values, or null if there are none.
  static const double* gather(const double* values, const RowBlock& block, Matrix& buffer, Index chunk) {
    if (!values) return nullptr;
    double* out = buffer.col(chunk).data();
    for (Index i = 0; i < block.size; ++i) out[i] = values[block.row(i)];
    std::fill(out + block.size, out + padded(block.size), 0.0);
    return out;
  }

  DrawLayout layout_;
  const Likelihood& likelihood_;
  RowSample sample_;
  Observations observations_;
  RegressionScratch& scratch_;
  Index draws_;
};

inline void add(const BlockSums& from, BlockSums& to) {
  for (std::size_t part = 0; part < from.log_likelihood.size(); ++part) {
    to.log_likelihood[part] += from.log_likelihood[part];
    to.nuisance_gradient[part] += from.nuisance_gradient[part];
    to.second_gradient[part] += from.second_gradient[part];
  }
}

inline double total(const std::array<double, 8>& parts) {
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

/// Draw s's of the sums that add_chunks() leaves.
inline double sum_of_draw(std::array<double, 8> BlockSums::*part, const DrawLayout& layout,
                          RegressionScratch& scratch, Index s) {
  constexpr Index kEach = DrawVectorKernel::kDraws;
  if (s >= layout.in_vectors()) return total(scratch.chunk_sums(0)[s].*part);
  return (scratch.chunk_sums(0)[s / kEach * kEach].*part)[static_cast<std::size_t>(s % kEach)];
}

/// Adds all chunks to the first, in order.
inline void add_chunks(RegressionScratch& scratch, Index packed_size, Index draws) {
  auto total = scratch.gradient.col(0).head(packed_size);
  for (Index chunk = 1; chunk < scratch.chunks; ++chunk) {
    total += scratch.gradient.col(chunk).head(packed_size);
    for (Index s = 0; s < draws; ++s) add(scratch.chunk_sums(chunk)[s], scratch.chunk_sums(0)[s]);
  }
}

}  // namespace magva::detail
