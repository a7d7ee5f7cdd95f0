#include "magva/block.hpp"

#include <algorithm>

#include "magva/manifold/euclidean.hpp"
#include "magva/manifold/fixed_rank.hpp"
#include "magva/manifold/grassmann.hpp"
#include "magva/manifold/stiefel.hpp"
#include "magva/rule/rules.hpp"
#include "magva/rule/stable_rules.hpp"

namespace magva {

namespace {

void clear_non_finite(MatrixRef x) { x = x.array().isFinite().select(x, 0); }

template <class Rule, Manifold M>
class RuleOnManifold final : public BlockUpdate {
 public:
  RuleOnManifold(const RuleOptions& options, Index rows, Index cols)
      : rule_(options, rows, cols), step_(rows, cols), finite_(static_cast<std::size_t>(row_tasks(rows))) {}

  void step(MatrixRef x, GradientPanels& gradient, double scale, MatrixRef work,
            TallSkinny& kernel) override {
    if (x.cols() == 0) return;
    if constexpr (M::geometry == Geometry::kFlat)
      step_flat(x, gradient, scale, work, kernel);
    else
      step_curved(x, gradient, scale, work, kernel);
  }
  using BlockUpdate::step;
  double violation(ConstMatrixRef x, TallSkinny& kernel) const override { return M{}.violation(x, kernel); }
  std::vector<Matrix*> state() override {
    const auto all = rule_.state();
    return {all.begin(), all.end()};
  }

 private:
  void step_flat(MatrixRef x, GradientPanels& gradient, double scale, MatrixRef work, TallSkinny& kernel) {
    std::fill(finite_.begin(), finite_.end(), true);
    rule::Place out{work, &kernel};
    rule_.direction(x, gradient, out, kernel,
                    [&](Range r, Index task) { add_tangent(x, r, task, scale, out(r, task)); });
    drop_non_finite_memory();
  }

  void step_curved(MatrixRef x, GradientPanels& gradient, double scale, MatrixRef work, TallSkinny& kernel) {
    step_.start(x.cols());
    const Eigen::Ref<const Matrix> point(x);
    rule::Place out{work, nullptr};
    rule_.direction(point, gradient, out, kernel, [&](Range r, Index task) {
      step_.measure(panel(point, r), as_const(stretch(work, r)), task);
    });
    if (!step_.solve(scale, kernel)) return retract_plainly(x, scale, work, kernel);
    sweep(x.rows(), kernel.workers(), [&](Range r, Index task) {
      fetch_next(point, r);
      rule_.settle(point, r, step_);
      step_.combine(mutable_panel(x, r), as_const(stretch(work, r)), kernel.scratch_panel(r, x.cols(), task));
    });
  }

  /// Without what is not finite in the step.
  void retract_plainly(MatrixRef x, double scale, MatrixRef work, TallSkinny& kernel) {
    std::fill(finite_.begin(), finite_.end(), true);
    sweep(x.rows(), kernel.workers(),
          [&](Range r, Index task) { add_tangent(x, r, task, scale, stretch(work, r)); });
    drop_non_finite_memory();
    if constexpr (M::geometry == Geometry::kOrthonormal) kernel.polar(x, x);
  }

  /// x <- x + scale P(v) for these rows.
  void add_tangent(MatrixRef x, Range r, Index task, double scale, const MutablePanel& v) {
    rule_.settle(x, r, step_);
    const MutablePanel rows = mutable_panel(x, r);
    step_.project(as_const(rows), v, r);
    bool fine = true;
    for (Index j = 0; j < rows.cols; ++j)
      fine &= rule::advance(rows.rows, scale, rows.col(j), v.col(j), rows.col(j));
    if (!fine) finite_[static_cast<std::size_t>(task)] = false;
  }

  void drop_non_finite_memory() {
    if (std::all_of(finite_.begin(), finite_.end(), [](char fine) { return fine != 0; })) return;
    for (Matrix* memory : rule_.state()) clear_non_finite(*memory);
  }

  Rule rule_;
  TangentStep<M> step_;
  std::vector<char> finite_;  // one a task
};

template <Manifold M>
std::unique_ptr<BlockUpdate> make_on(const RuleOptions& rule, Index rows, Index cols) {
  switch (rule.kind) {
    case RuleKind::kBasic:
      return std::make_unique<RuleOnManifold<rule::Basic<M>, M>>(rule, rows, cols);
    case RuleKind::kMomentum:
      return std::make_unique<RuleOnManifold<rule::Momentum<M>, M>>(rule, rows, cols);
    case RuleKind::kRmsprop:
    case RuleKind::kRmspropGuarded:
      return std::make_unique<RuleOnManifold<rule::Rmsprop<M>, M>>(rule, rows, cols);
    case RuleKind::kAdadelta:
    case RuleKind::kAdadeltaGuarded:
      return std::make_unique<RuleOnManifold<rule::Adadelta<M>, M>>(rule, rows, cols);
    case RuleKind::kRmspropStable:
      return std::make_unique<RuleOnManifold<rule::RmspropStable<M>, M>>(rule, rows, cols);
    case RuleKind::kAdadeltaStable:
      return std::make_unique<RuleOnManifold<rule::AdadeltaStable<M>, M>>(rule, rows, cols);
    case RuleKind::kAdam:
      return std::make_unique<RuleOnManifold<rule::Adam<M>, M>>(rule, rows, cols);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<BlockUpdate> make_update(ManifoldKind manifold, const RuleOptions& rule, Index rows,
                                         Index cols) {
  switch (manifold) {
    case ManifoldKind::kEuclidean:
      return make_on<Euclidean>(rule, rows, cols);
    case ManifoldKind::kLowerTrapezoidal:
      return make_on<LowerTrapezoidal>(rule, rows, cols);
    case ManifoldKind::kStiefel:
      return make_on<Stiefel>(rule, rows, cols);
    case ManifoldKind::kGrassmann:
      return make_on<Grassmann>(rule, rows, cols);
    case ManifoldKind::kFixedRank:
      return make_on<FixedRank>(rule, rows, cols);
  }
  return nullptr;
}

Matrix random_point(ManifoldKind manifold, Index rows, Index cols, std::uint64_t seed) {
  switch (manifold) {
    case ManifoldKind::kEuclidean:
      return Euclidean{}.random_point(rows, cols, seed);
    case ManifoldKind::kLowerTrapezoidal:
      return LowerTrapezoidal{}.random_point(rows, cols, seed);
    case ManifoldKind::kStiefel:
    case ManifoldKind::kGrassmann:
      return Stiefel{}.random_point(rows, cols, seed);
    case ManifoldKind::kFixedRank:
      return FixedRank{}.random_point(rows, cols, seed);
  }
  return {};
}

}  // namespace magva
