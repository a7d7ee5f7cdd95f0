#pragma once
// One parameter block of a variational family: its storage, its manifold and its rule's state. The loop over
// the blocks is the paper's steps 4 to 7 of Algorithm 1.
#include <memory>
#include <string>
#include <vector>

#include "core/tall_skinny.hpp"
#include "magva/algorithm1.hpp"

namespace magva {

enum class ManifoldKind { kEuclidean, kLowerTrapezoidal, kStiefel, kGrassmann, kFixedRank };

/// Where an update finds the gradient of its block, some rows at a time, so that a large one need not be
/// stored. Panels are asked for by several threads at once.
class GradientPanels {
 public:
  virtual ~GradientPanels() = default;
  /// These rows, made in `place` or found in memory of its own. Every row is asked for once, before x changes
  /// there.
  virtual Panel make(Range rows, Index task, const MutablePanel& place) = 0;
  /// Where the rows are that were made in `place`.
  virtual Panel made(Range, const Panel& place) { return place; }
  /// Adds what make() will need for these rows.
  virtual void look_ahead_to_make(Range, Ahead&) {}
  /// An update that writes x in a sweep after those that need the gradient says so: before that sweep, and
  /// when these rows of x have their next values, in the order of sweep_back().
  virtual void all_made() {}
  virtual void wrote(Range, Index /*task*/) {}
  /// Adds what wrote() will need for these rows.
  virtual void look_ahead_to_wrote(Range, Ahead&) {}
};

class StoredGradient final : public GradientPanels {
 public:
  explicit StoredGradient(ConstMatrixRef gradient) : gradient_(gradient) {}
  Panel make(Range rows, Index, const MutablePanel&) override { return panel(gradient_, rows); }
  Panel made(Range rows, const Panel&) override { return panel(gradient_, rows); }

 private:
  ConstMatrixRef gradient_;
};

/// The update of a block whose rows do not know of each other. A step is start(), then each row once, by
/// several threads at once, then finish().
class RowUpdate {
 public:
  virtual ~RowUpdate() = default;
  virtual void start(ConstMatrixRef x, TallSkinny& kernel) = 0;
  /// `gradient` are these rows' of the gradient, and are overwritten. They have no gaps between them.
  virtual void step_rows(MatrixRef x, Range rows, Index task, const MutablePanel& gradient, double scale) = 0;
  virtual void finish(TallSkinny& kernel) = 0;
};

/// A rule on a manifold, with its state, behind one virtual call a step.
class BlockUpdate {
 public:
  virtual ~BlockUpdate() = default;
  /// x <- R_x(scale U), where U is the rule's direction for this gradient: scale > 0 ascends, scale < 0
  /// descends. The step is always finite: what overflowed is dropped, with the memory that caused it. `work`
  /// is memory of the shape of x, and holds nothing of use afterwards. True where the gradient was told of
  /// every row that was written.
  virtual bool step(MatrixRef x, GradientPanels& gradient, double scale, MatrixRef work,
                    TallSkinny& kernel) = 0;
  void step(MatrixRef x, ConstMatrixRef gradient, double scale, MatrixRef work, TallSkinny& kernel) {
    StoredGradient stored(gradient);
    step(x, stored, scale, work, kernel);
  }
  /// Adds its memory of these rows.
  virtual void look_ahead(Range rows, Ahead& ahead) = 0;
  /// Null on curved manifolds.
  virtual RowUpdate* by_rows() { return nullptr; }
  virtual double violation(ConstMatrixRef x, TallSkinny& kernel) const = 0;
  /// All that must be saved for a resumed run to equal an uninterrupted one.
  virtual std::vector<Matrix*> state() = 0;
};

std::unique_ptr<BlockUpdate> make_update(ManifoldKind manifold, const RuleOptions& rule, Index rows,
                                         Index cols);
Matrix random_point(ManifoldKind manifold, Index rows, Index cols, std::uint64_t seed);

/// A named block: the optimiser sees nothing else of a family.
struct Block {
  std::string name;
  ManifoldKind manifold = ManifoldKind::kEuclidean;
  Matrix value;
  Matrix gradient;  ///< of the ELBO
};

}  // namespace magva
