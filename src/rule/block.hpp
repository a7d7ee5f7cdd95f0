#pragma once
// One parameter block of a variational family: its storage, its manifold and its rule's state. The loop over
// the blocks is the paper's steps 4 to 7 of Algorithm 1.
#include <memory>
#include <vector>

#include "core/tall_skinny.hpp"
#include "magva/algorithm1.hpp"

namespace magva {

enum class ManifoldKind { kEuclidean, kLowerTrapezoidal, kStiefel, kGrassmann, kFixedRank };

/// What a block holds. In the paper's letters: mu, d2, B, d1, and L of a full-rank Gaussian.
enum class BlockKind { kMean, kResidualScale, kFactors, kFactorScale, kCholesky };
const char* to_string(BlockKind kind);

/// Whether a matrix, with a rule's memory beside it, surely stays in cache from one pass to the next.
bool stays_in_cache(ConstMatrixRef x);

/// A rule on a manifold, with its state. A step is two passes over the rows of a block x, which panels share
/// with whatever else can be done while they are in cache:
///   start(x, scale);
///   the gradient pass, take_gradient() for every panel, tasks at the same time;
///   finish_gradient_pass(x), which says whether a write pass is needed;
///   the write pass, write_rows() for every panel in the order of sweep_back(), tasks at the same time.
/// On flat manifolds rows do not depend on each other: the gradient pass writes them.
class BlockUpdate {
 public:
  virtual ~BlockUpdate() = default;

  /// x <- R_x(scale U), where U is the rule's direction for this gradient: scale > 0 ascends, scale < 0
  /// descends. The step is always finite: what overflowed is dropped, with the memory that caused it.
  void step(MatrixRef x, ConstMatrixRef gradient, double scale, TallSkinny& kernel);

  virtual void start(ConstMatrixRef x, double scale, TallSkinny& kernel) = 0;
  /// Where a factor block wants its gradient's rows to be computed.
  virtual MutablePanel gradient_panel(Range rows, Index task, TallSkinny& kernel) = 0;
  /// `gradient`: these rows of the gradient, with no gaps between them; overwritten. On a curved manifold it
  /// must be gradient_panel().
  virtual void take_gradient(MatrixRef x, Range rows, Index task, const MutablePanel& gradient,
                             TallSkinny& kernel) = 0;
  /// True if write_rows() is to be called for all rows, false if x has its next value.
  virtual bool finish_gradient_pass(MatrixRef x, TallSkinny& kernel) = 0;
  virtual void write_rows(MatrixRef x, Range rows, Index task, TallSkinny& kernel) = 0;

  virtual bool is_flat() const = 0;
  /// Adds these rows of what the gradient pass reads: x and the rule's memory.
  virtual void prefetch_for_gradient_pass(ConstMatrixRef x, Range rows, PrefetchQueue& prefetch) = 0;
  virtual void prefetch_for_write_pass(ConstMatrixRef x, Range rows, PrefetchQueue& prefetch) = 0;

  virtual double violation(ConstMatrixRef x, TallSkinny& kernel) const = 0;
  /// All that must be saved for a resumed run to equal an uninterrupted one.
  virtual std::vector<Matrix*> state() = 0;
};

std::unique_ptr<BlockUpdate> make_update(ManifoldKind manifold, const RuleOptions& rule, Index rows,
                                         Index cols);
Matrix random_point(ManifoldKind manifold, Index rows, Index cols, std::uint64_t seed);

/// The optimiser sees nothing else of a family.
struct Block {
  BlockKind kind = BlockKind::kMean;
  ManifoldKind manifold = ManifoldKind::kEuclidean;
  Matrix value;
  Matrix gradient;  ///< of the ELBO
};

/// Null if there is none of that kind.
inline Block* find_block(std::vector<Block>& blocks, BlockKind kind) {
  for (Block& block : blocks)
    if (block.kind == kind) return &block;
  return nullptr;
}
inline const Block* find_block(const std::vector<Block>& blocks, BlockKind kind) {
  for (const Block& block : blocks)
    if (block.kind == kind) return &block;
  return nullptr;
}

}  // namespace magva
