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

Index bytes_of(ConstMatrixRef x) { return x.size() * static_cast<Index>(sizeof(double)); }
/// Surely, whoever else uses a shared cache.
bool exceeds_caches(ConstMatrixRef x) { return bytes_of(x) > detail::cache_sizes().last / 8; }

/// What flat and curved blocks have in common.
template <class Rule, Manifold M>
class RuleOnManifold : public BlockUpdate {
 public:
  RuleOnManifold(const RuleOptions& options, Index rows, Index cols)
      : rule_(options, rows, cols),
        step_(rows, cols),
        cols_(cols),
        rows_(rows),
        finite_(static_cast<std::size_t>(row_tasks(rows))) {}
  void prefetch_for_gradient_pass(ConstMatrixRef x, Range r, PrefetchQueue& prefetch) override {
    add(prefetch, panel(x, r));
    for (Matrix* memory : rule_.state())
      if (memory->rows() == rows_) prefetch.add(packed_tile(*memory, r).data, r.size() * memory->cols());
  }
  double violation(ConstMatrixRef x, TallSkinny& kernel) const override { return M{}.violation(x, kernel); }
  std::vector<Matrix*> state() override {
    const auto all = rule_.state();
    return {all.begin(), all.end()};
  }

 protected:
  void expect_finite() { std::fill(finite_.begin(), finite_.end(), true); }

  /// x <- x + scale P(v) for these rows. `point` is x once more, as a constant.
  void add_tangent(MatrixRef x, ConstMatrixRef point, Range r, Index task, const MutablePanel& v) {
    rule_.finalize(point, r, step_);
    const MutablePanel rows = mutable_panel(x, r);
    step_.project(as_const(rows), v, r);
    bool fine = true;
    for (Index j = 0; j < rows.cols; ++j)
      fine &= rule::advance(rows.rows, scale_, rows.col(j), v.col(j), rows.col(j));
    if (!fine) finite_[static_cast<std::size_t>(task)] = false;
  }

  void drop_non_finite_memory() {
    if (std::all_of(finite_.begin(), finite_.end(), [](char fine) { return fine != 0; })) return;
    for (Matrix* memory : rule_.state()) clear_non_finite(*memory);
  }

  Rule rule_;
  TangentStep<M> step_;
  Index cols_;
  double scale_ = 0;

 private:
  Index rows_;
  std::vector<char> finite_;  // one per task
};

template <class Rule, Manifold M>
class FlatUpdate final : public RuleOnManifold<Rule, M> {
 public:
  using RuleOnManifold<Rule, M>::RuleOnManifold;

  bool is_flat() const override { return true; }
  void start(ConstMatrixRef x, double scale, TallSkinny& kernel) override {
    this->scale_ = scale;
    this->expect_finite();
    this->rule_.begin(x, kernel);
  }
  MutablePanel gradient_panel(Range r, Index task, TallSkinny& kernel) override {
    return kernel.scratch_panel(r, this->cols_, task);
  }
  void take_gradient(MatrixRef x, Range r, Index task, const MutablePanel& v, TallSkinny&) override {
    const Eigen::Ref<const Matrix> point(x);
    if constexpr (Rule::kTwoStages) this->rule_.enter(point, r, task, as_const(v));
    this->rule_.direct(point, r, task, as_const(v), v);
    this->add_tangent(x, point, r, task, v);
  }
  bool finish_gradient_pass(MatrixRef, TallSkinny& kernel) override {
    this->rule_.end(kernel);
    this->drop_non_finite_memory();
    return false;
  }
  void write_rows(MatrixRef, Range, Index, TallSkinny&) override {}
  void prefetch_for_write_pass(ConstMatrixRef, Range, PrefetchQueue&) override {}
};

template <class Rule, Manifold M>
class CurvedUpdate final : public RuleOnManifold<Rule, M> {
 public:
  CurvedUpdate(const RuleOptions& options, Index rows, Index cols)
      : RuleOnManifold<Rule, M>(options, rows, cols), direction_(huge_page_matrix(rows, cols)) {
    streams_ = !Rule::kTwoStages && exceeds_caches(direction_);
  }

  bool is_flat() const override { return false; }
  void start(ConstMatrixRef x, double scale, TallSkinny& kernel) override {
    this->scale_ = scale;
    this->step_.start(x.cols());
    this->rule_.begin(x, kernel);
  }
  MutablePanel gradient_panel(Range r, Index task, TallSkinny& kernel) override {
    return streams_ ? kernel.scratch_panel(r, direction_.cols(), task) : packed_tile(direction_, r);
  }
  void take_gradient(MatrixRef x, Range r, Index task, const MutablePanel& v, TallSkinny& kernel) override {
    const Eigen::Ref<const Matrix> point(x);
    if constexpr (Rule::kTwoStages)
      this->rule_.enter(point, r, task, as_const(v));
    else
      direct(point, r, task, v, kernel);
    // What no cache holds until the next pass is stored past them: they would fetch it first.
    if (streams_) detail::stream_copy(v.data, r.size() * x.cols(), packed_tile(direction_, r).data);
  }
  bool finish_gradient_pass(MatrixRef x, TallSkinny& kernel) override {
    if constexpr (Rule::kTwoStages) direct_all(x, kernel);
    this->rule_.end(kernel);
    if (this->step_.solve(this->scale_, kernel)) return true;
    retract_plainly(x, kernel);
    return false;
  }
  void write_rows(MatrixRef x, Range r, Index task, TallSkinny& kernel) override {
    this->rule_.finalize(x, r, this->step_);
    this->step_.combine(mutable_panel(x, r), as_const(packed_tile(direction_, r)),
                        kernel.scratch_panel(r, x.cols(), task), kernel.prefetch(task));
  }
  void prefetch_for_write_pass(ConstMatrixRef x, Range r, PrefetchQueue& prefetch) override {
    add(prefetch, panel(x, r));
    prefetch.add(packed_tile(direction_, r).data, r.size() * x.cols());
  }

 private:
  void direct(ConstMatrixRef x, Range r, Index task, const MutablePanel& v, TallSkinny& kernel) {
    this->rule_.direct(x, r, task, as_const(v), v);
    this->step_.measure(panel(x, r), as_const(v), task, kernel.prefetch(task));
  }

  /// The second stage of a rule that has two: the directions of all rows from their gradients.
  void direct_all(ConstMatrixRef x, TallSkinny& kernel) {
    this->rule_.solve(kernel);
    sweep(x.rows(), kernel.workers(), [&](Range r, Index task) {
      PrefetchQueue& prefetch = kernel.prefetch(task);
      prefetch.clear();
      if (!stays_in_cache(x)) {
        const Range next = following(r, x.rows());
        this->prefetch_for_gradient_pass(x, next, prefetch);
        prefetch.add(packed_tile(direction_, next).data, next.size() * x.cols());
      }
      direct(x, r, task, packed_tile(direction_, r), kernel);
    });
  }

  /// Without what is not finite in the step.
  void retract_plainly(MatrixRef x, TallSkinny& kernel) {
    this->expect_finite();
    sweep(x.rows(), kernel.workers(),
          [&](Range r, Index task) { this->add_tangent(x, x, r, task, packed_tile(direction_, r)); });
    this->drop_non_finite_memory();
    if constexpr (M::geometry == Geometry::kOrthonormal) kernel.polar(x, x);
  }

  Matrix direction_;  // V, whose projection is the rule's step; first its gradient if the rule has two stages
  bool streams_ = false;
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

const char* to_string(BlockKind kind) {
  switch (kind) {
    case BlockKind::kMean:
      return "mu";
    case BlockKind::kResidualScale:
      return "d2";
    case BlockKind::kFactors:
      return "B";
    case BlockKind::kFactorScale:
      return "d1";
    case BlockKind::kCholesky:
      return "L";
  }
  return "unknown";
}

bool stays_in_cache(ConstMatrixRef x) { return bytes_of(x) < detail::cache_sizes().last / 16; }

void BlockUpdate::step(MatrixRef x, ConstMatrixRef gradient, double scale, TallSkinny& kernel) {
  if (x.size() == 0) return;
  const Eigen::Ref<const Matrix> point(x);
  start(point, scale, kernel);
  sweep(x.rows(), kernel.workers(), [&](Range r, Index task) {
    PrefetchQueue& prefetch = kernel.prefetch(task);
    prefetch.clear();
    if (!stays_in_cache(point)) prefetch_for_gradient_pass(point, following(r, x.rows()), prefetch);
    if (is_flat()) prefetch.issue_all();
    const MutablePanel place = gradient_panel(r, task, kernel);
    for (Index j = 0; j < x.cols(); ++j) std::copy_n(panel(gradient, r).col(j), r.size(), place.col(j));
    take_gradient(x, r, task, place, kernel);
  });
  if (!finish_gradient_pass(x, kernel)) return;
  sweep_back(x.rows(), kernel.workers(), [&](Range r, Index task) {
    PrefetchQueue& prefetch = kernel.prefetch(task);
    prefetch.clear();
    if (!stays_in_cache(point)) prefetch_for_write_pass(point, preceding(r), prefetch);
    write_rows(x, r, task, kernel);
  });
}

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
