#include "rule/block.hpp"

#include <algorithm>

#include "core/caches.hpp"
#include "core/panel_kernels.hpp"
#include "manifold/euclidean.hpp"
#include "manifold/fixed_rank.hpp"
#include "manifold/grassmann.hpp"
#include "manifold/stiefel.hpp"
#include "rule/rules.hpp"
#include "rule/stable_rules.hpp"

namespace magva {

namespace {

void clear_non_finite(MatrixRef x) { x = x.array().isFinite().select(x, 0); }

// Whether a matrix, with the rule's memory beside it, surely stays in cache from one sweep to the next, and
// whether it surely does not: between them it depends on who else uses a shared cache.
Index bytes_of(ConstMatrixRef x) { return x.size() * static_cast<Index>(sizeof(double)); }
bool stays_in_cache(ConstMatrixRef x) { return bytes_of(x) < detail::cache_sizes().last / 16; }
bool exceeds_caches(ConstMatrixRef x) { return bytes_of(x) > detail::cache_sizes().last / 8; }

/// Looks ahead to these rows of x, and to what `add_more` adds.
template <class AddMore>
void look_ahead_to(Range next, ConstMatrixRef x, Ahead& ahead, AddMore&& add_more) {
  ahead.clear();
  if (stays_in_cache(x)) return;
  add(ahead, panel(x, next));
  add_more();
}

/// What flat and curved blocks have in common.
template <class Rule, Manifold M>
class RuleOnManifold : public BlockUpdate {
 public:
  RuleOnManifold(const RuleOptions& options, Index rows, Index cols)
      : rule_(options, rows, cols),
        step_(rows, cols),
        rows_(rows),
        finite_(static_cast<std::size_t>(row_tasks(rows))) {}
  using BlockUpdate::step;
  void look_ahead(Range r, Ahead& ahead) override {
    for (Matrix* memory : rule_.state())
      if (memory->rows() == rows_) ahead.add(stretch(*memory, r).data, r.size() * memory->cols());
  }
  double violation(ConstMatrixRef x, TallSkinny& kernel) const override { return M{}.violation(x, kernel); }
  std::vector<Matrix*> state() override {
    const auto all = rule_.state();
    return {all.begin(), all.end()};
  }

 protected:
  void expect_finite() { std::fill(finite_.begin(), finite_.end(), true); }

  /// x <- x + scale P(v) for these rows.
  void add_tangent(MatrixRef x, Range r, Index task, double scale, const MutablePanel& v) {
    add_tangent(x, x, r, task, scale, v);
  }
  /// Where x is at hand as a constant, too.
  void add_tangent(MatrixRef x, ConstMatrixRef point, Range r, Index task, double scale,
                   const MutablePanel& v) {
    rule_.settle(point, r, step_);
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

 private:
  Index rows_;
  std::vector<char> finite_;  // one a task
};

template <class Rule, Manifold M>
class FlatUpdate final : public RuleOnManifold<Rule, M>, public RowUpdate {
 public:
  using RuleOnManifold<Rule, M>::RuleOnManifold;

  bool step(MatrixRef x, GradientPanels& gradient, double scale, MatrixRef, TallSkinny& kernel) override {
    start(x, kernel);
    sweep(x.rows(), kernel.workers(), [&](Range r, Index task) {
      Ahead& ahead = kernel.ahead(task);
      look_ahead_to(following(r, x.rows()), x, ahead, [] {});
      ahead.all();
      const MutablePanel v = kernel.scratch_panel(r, x.cols(), task);
      step_panel(x, r, task, gradient.make(r, task, v), v, scale);
    });
    finish(kernel);
    return false;
  }

  RowUpdate* by_rows() override { return this; }
  void start(ConstMatrixRef x, TallSkinny& kernel) override {
    this->expect_finite();
    this->rule_.begin(x, kernel);
  }
  void step_rows(MatrixRef x, Range r, Index task, const MutablePanel& gradient, double scale) override {
    step_panel(x, r, task, as_const(gradient), gradient, scale);
  }
  void finish(TallSkinny& kernel) override {
    this->rule_.end(kernel);
    this->drop_non_finite_memory();
  }

 private:
  void step_panel(MatrixRef x, Range r, Index task, const Panel& g, const MutablePanel& v, double scale) {
    const Eigen::Ref<const Matrix> point(x);
    if constexpr (Rule::kTwoStages) this->rule_.enter(point, r, task, g);
    this->rule_.direct(point, r, task, g, v);
    this->add_tangent(x, point, r, task, scale, v);
  }
};

template <class Rule, Manifold M>
class CurvedUpdate final : public RuleOnManifold<Rule, M> {
 public:
  using RuleOnManifold<Rule, M>::RuleOnManifold;

  bool step(MatrixRef x, GradientPanels& gradient, double scale, MatrixRef work,
            TallSkinny& kernel) override {
    if (x.cols() == 0) return false;
    const Eigen::Ref<const Matrix> point(x);
    measure_direction(point, gradient, work, kernel);
    if (!this->step_.solve(scale, kernel)) {
      retract_plainly(x, scale, work, kernel);
      return false;
    }
    gradient.all_made();
    sweep_back(x.rows(), kernel.workers(), [&](Range r, Index task) {
      Ahead& ahead = kernel.ahead(task);
      const Range next = preceding(r);
      look_ahead_to(next, point, ahead, [&] {
        ahead.add(stretch(work, next).data, next.size() * x.cols());
        gradient.look_ahead_to_wrote(next, ahead);
      });
      this->rule_.settle(point, r, this->step_);
      this->step_.combine(mutable_panel(x, r), as_const(stretch(work, r)),
                          kernel.scratch_panel(r, x.cols(), task), ahead);
      gradient.wrote(r, task);
    });
    return true;
  }

 private:
  /// Leaves V in `work`.
  void measure_direction(ConstMatrixRef x, GradientPanels& gradient, MatrixRef work, TallSkinny& kernel) {
    this->step_.start(x.cols());
    this->rule_.begin(x, kernel);
    if constexpr (Rule::kTwoStages)
      direct_in_two_stages(x, gradient, work, kernel);
    else
      direct_in_one_stage(x, gradient, work, kernel);
    this->rule_.end(kernel);
  }

  void direct_in_one_stage(ConstMatrixRef x, GradientPanels& gradient, MatrixRef work, TallSkinny& kernel) {
    // What no cache holds until the next sweep is written past the caches: they would fetch it first.
    const bool past_caches = exceeds_caches(x);
    sweep(x.rows(), kernel.workers(), [&](Range r, Index task) {
      look_ahead_to_gradient(r, x, gradient, kernel.ahead(task));
      const MutablePanel v = past_caches ? kernel.scratch_panel(r, x.cols(), task) : stretch(work, r);
      direct(x, r, task, gradient.make(r, task, v), v, kernel);
      if (past_caches) detail::copy_past_caches(v.data, r.size() * x.cols(), stretch(work, r).data);
    });
  }

  void direct_in_two_stages(ConstMatrixRef x, GradientPanels& gradient, MatrixRef work, TallSkinny& kernel) {
    sweep(x.rows(), kernel.workers(), [&](Range r, Index task) {
      look_ahead_to_gradient(r, x, gradient, kernel.ahead(task));
      this->rule_.enter(x, r, task, gradient.make(r, task, stretch(work, r)));
    });
    this->rule_.solve(kernel);
    sweep(x.rows(), kernel.workers(), [&](Range r, Index task) {
      const MutablePanel v = stretch(work, r);
      Ahead& ahead = kernel.ahead(task);
      const Range next = following(r, x.rows());
      look_ahead_to(next, x, ahead, [&] {
        this->look_ahead(next, ahead);
        ahead.add(stretch(work, next).data, next.size() * x.cols());
      });
      direct(x, r, task, gradient.made(r, as_const(v)), v, kernel);
    });
  }

  void look_ahead_to_gradient(Range r, ConstMatrixRef x, GradientPanels& gradient, Ahead& ahead) {
    const Range next = following(r, x.rows());
    look_ahead_to(next, x, ahead, [&] {
      this->look_ahead(next, ahead);
      gradient.look_ahead_to_make(next, ahead);
    });
  }

  void direct(ConstMatrixRef x, Range r, Index task, const Panel& g, const MutablePanel& v,
              TallSkinny& kernel) {
    this->rule_.direct(x, r, task, g, v);
    this->step_.measure(panel(x, r), as_const(v), task, kernel.ahead(task));
  }

  /// Without what is not finite in the step.
  void retract_plainly(MatrixRef x, double scale, MatrixRef work, TallSkinny& kernel) {
    this->expect_finite();
    sweep(x.rows(), kernel.workers(),
          [&](Range r, Index task) { this->add_tangent(x, r, task, scale, stretch(work, r)); });
    this->drop_non_finite_memory();
    if constexpr (M::geometry == Geometry::kOrthonormal) kernel.polar(x, x);
  }
};

template <class Rule, Manifold M>
std::unique_ptr<BlockUpdate> make(const RuleOptions& rule, Index rows, Index cols) {
  using Update =
      std::conditional_t<M::geometry == Geometry::kFlat, FlatUpdate<Rule, M>, CurvedUpdate<Rule, M>>;
  return std::make_unique<Update>(rule, rows, cols);
}

template <Manifold M>
std::unique_ptr<BlockUpdate> make_on(const RuleOptions& rule, Index rows, Index cols) {
  switch (rule.kind) {
    case RuleKind::kBasic:
      return make<rule::Basic<M>, M>(rule, rows, cols);
    case RuleKind::kMomentum:
      return make<rule::Momentum<M>, M>(rule, rows, cols);
    case RuleKind::kRmsprop:
    case RuleKind::kRmspropGuarded:
      return make<rule::Rmsprop<M>, M>(rule, rows, cols);
    case RuleKind::kAdadelta:
    case RuleKind::kAdadeltaGuarded:
      return make<rule::Adadelta<M>, M>(rule, rows, cols);
    case RuleKind::kRmspropStable:
      return make<rule::RmspropStable<M>, M>(rule, rows, cols);
    case RuleKind::kAdadeltaStable:
      return make<rule::AdadeltaStable<M>, M>(rule, rows, cols);
    case RuleKind::kAdam:
      return make<rule::Adam<M>, M>(rule, rows, cols);
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
