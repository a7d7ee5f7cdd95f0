#pragma once
// How a regression is evaluated: its rows are cut into lanes, which threads share, and each lane goes over
// its rows a block at a time.
#include <algorithm>
#include <bit>

#include "design_kernel.hpp"
#include "magva/model/likelihood.hpp"
#include "magva/model/prior.hpp"
#include "magva/model/regression.hpp"
#include "mirrored_draws.hpp"
#include "pack.hpp"

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

/// Everything of one column belongs to one lane; columns are whole cache lines.
struct RegressionScratch final : Scratch {
  RegressionScratch(Index draws, Index lane_total, const DesignKernel& kernel, Index prior_buffer)
      : RegressionScratch(draws, lane_total, kernel.block_rows(), kernel.packed_size(draws),
                          kernel.design().cols(), prior_buffer) {}

  RegressionScratch(Index draws, Index lane_total, Index block_rows, Index packed_size, Index columns,
                    Index prior_buffer)
      : max_draws(draws),
        lanes(lane_total),
        coefficients(padded(prior_buffer), draws),
        packed(packed_size),
        gradient(packed_size, lane_total),
        eta(block_rows * draws, lane_total),
        halves(padded(columns), draws / 2 + 1),
        half_products(block_rows * (draws / 2 + 1), lane_total),
        response(block_rows, lane_total),
        weight(block_rows, lane_total),
        shapes(static_cast<std::size_t>(draws)),
        sums(static_cast<std::size_t>(lane_total * draws)) {}

  BlockSums* lane_sums(Index lane) { return sums.data() + lane * max_draws; }

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

/// What a lane reads.
struct Observations {
  const double* response;
  const double* weight;
  bool unweighted;
};

/// The rows of one lane, a block at a time.
class LaneWork {
 public:
  LaneWork(const DesignKernel& kernel, const Likelihood& likelihood, const RowSample& sample,
           const Observations& observations, RegressionScratch& scratch, Index draws, bool mirrored)
      : kernel_(kernel),
        likelihood_(likelihood),
        sample_(sample),
        observations_(observations),
        scratch_(scratch),
        draws_(draws),
        pairs_(mirrored ? draws / 2 : 0),
        columns_(mirrored ? pairs_ + 1 : draws) {}

  void operator()(Index lane) const {
    const Index step = kernel_.block_rows();
    const Range blocks = piece((sample_.count + step - 1) / step, scratch_.lanes, lane);
    double* gradient = scratch_.gradient.col(lane).data();
    double* eta = scratch_.eta.col(lane).data();
    double* products = pairs_ > 0 ? scratch_.half_products.col(lane).data() : eta;
    BlockSums* sums = scratch_.lane_sums(lane);
    std::fill_n(gradient, kernel_.packed_size(columns_), 0.0);
    std::fill_n(sums, draws_, BlockSums{});
    for (Index b = blocks.begin; b < blocks.end; ++b) {
      const RowBlock block{sample_.rows, b * step, std::min(step, sample_.count - b * step)};
      kernel_.multiply(block, scratch_.packed.data(), columns_, products, step);
      clear_padding(block.size, products, step);
      if (pairs_ > 0) from_halves(products, step, padded(block.size), pairs_, eta, step);
      likelihood_.evaluate_block(responses(block, lane), eta, step, draws_, scratch_.shapes.data(), sums);
      if (pairs_ > 0) sum_and_differences(eta, step, padded(block.size), pairs_, products, step);
      kernel_.accumulate(block, products, step, columns_, gradient);
    }
    for (Index s = 0; s < draws_; ++s) likelihood_.close(sums[s]);
  }

 private:
  void clear_padding(Index rows, double* eta, Index step) const {
    for (Index s = 0; s < columns_; ++s) std::fill(eta + s * step + rows, eta + s * step + padded(rows), 0.0);
  }

  ResponseBlock responses(const RowBlock& block, Index lane) const {
    if (!block.chosen && sample_.scale == 1.0)
      return {observations_.response + block.begin, observations_.weight + block.begin, padded(block.size),
              observations_.unweighted};
    double* response = scratch_.response.col(lane).data();
    double* weight = scratch_.weight.col(lane).data();
    for (Index i = 0; i < block.size; ++i) {
      response[i] = observations_.response[block.row(i)];
      weight[i] = observations_.weight[block.row(i)] * sample_.scale;
    }
    std::fill(response + block.size, response + padded(block.size), 0.0);
    std::fill(weight + block.size, weight + padded(block.size), 0.0);
    return {response, weight, padded(block.size)};
  }

  const DesignKernel& kernel_;
  const Likelihood& likelihood_;
  const RowSample& sample_;
  Observations observations_;
  RegressionScratch& scratch_;
  Index draws_;
  Index pairs_;    // 0 where draws are not mirrored
  Index columns_;  // of products with the design
};

inline void add(const BlockSums& from, BlockSums& to) {
  for (std::size_t part = 0; part < from.log_likelihood.size(); ++part) {
    to.log_likelihood[part] += from.log_likelihood[part];
    to.nuisance_gradient[part] += from.nuisance_gradient[part];
  }
}

inline double total(const std::array<double, 8>& parts) {
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

inline void pack_draws(const DesignKernel& kernel, const CoefficientPrior& prior, ConstMatrixRef theta,
                       RegressionScratch& scratch) {
  for (Index s = 0; s < theta.cols(); ++s) {
    const double* beta = prior.coefficients_at(theta.col(s).data(), scratch.coefficients.col(s).data());
    kernel.pack(beta, s, theta.cols(), scratch.packed.data());
  }
}

inline void pack_halves(const DesignKernel& kernel, ConstMatrixRef theta, RegressionScratch& scratch) {
  const Index pairs = theta.cols() / 2;
  to_halves(theta.data(), theta.outerStride(), kernel.design().cols(), pairs, scratch.halves.data(),
            scratch.halves.rows());
  for (Index k = 0; k <= pairs; ++k)
    kernel.pack(scratch.halves.col(k).data(), k, pairs + 1, scratch.packed.data());
}

inline void unpack_draws(const DesignKernel& kernel, RegressionScratch& scratch, MatrixRef gradient) {
  for (Index s = 0; s < gradient.cols(); ++s)
    kernel.unpack(scratch.gradient.col(0).data(), s, gradient.cols(), gradient.col(s).data());
}

inline void unpack_halves(const DesignKernel& kernel, RegressionScratch& scratch, MatrixRef gradient) {
  const Index pairs = gradient.cols() / 2;
  for (Index k = 0; k <= pairs; ++k)
    kernel.unpack(scratch.gradient.col(0).data(), k, pairs + 1, scratch.halves.col(k).data());
  from_halves(scratch.halves.data(), scratch.halves.rows(), kernel.design().cols(), pairs, gradient.data(),
              gradient.outerStride());
}

/// Adds all lanes to the first, in order.
inline void add_lanes(RegressionScratch& scratch, Index packed_size, Index draws) {
  auto total = scratch.gradient.col(0).head(packed_size);
  for (Index lane = 1; lane < scratch.lanes; ++lane) {
    total += scratch.gradient.col(lane).head(packed_size);
    for (Index s = 0; s < draws; ++s) add(scratch.lane_sums(lane)[s], scratch.lane_sums(0)[s]);
  }
}

}  // namespace magva::detail
