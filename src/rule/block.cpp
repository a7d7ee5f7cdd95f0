#include "magva/block.hpp"

#include <algorithm>

#include "magva/manifold/euclidean.hpp"
#include "magva/manifold/fixed_rank.hpp"
#include "magva/manifold/grassmann.hpp"
#include "magva/manifold/stiefel.hpp"
#include "magva/rule/stable_rules.hpp"

namespace magva {

namespace {

void clear_non_finite(MatrixRef x) { x = x.array().isFinite().select(x, 0); }

template <class Rule, Manifold M>
class RuleOnManifold final : public BlockUpdate {
 public:
  RuleOnManifold(const RuleOptions& options, Index rows, Index cols)
      : rule_(options, rows, cols),
        gram_(kOrthonormal ? rows : 0, kOrthonormal ? cols : 0, kOrthonormal ? cols : 0),
        finite_(static_cast<std::size_t>(row_tasks(rows))) {}

  void step(MatrixRef x, ConstMatrixRef gradient, double scale, MatrixRef work, TallSkinny& kernel) override {
    if (x.cols() == 0) return;
    // The next point where it can be written at once; else what the polar factor is to be taken of.
    MatrixRef next = kOrthonormal ? work : x;
    std::fill(finite_.begin(), finite_.end(), true);
    if constexpr (kOrthonormal) gram_.start(x.cols(), x.cols());
    rule_.direction(x, gradient, work, kernel, [&](Range r, Index task) {
      bool fine = true;
      rule::each_column(r, x.cols(), [&](Index n, Index j) {
        fine &= rule::advance(n, scale, rule::at(x, r, j), rule::at(work, r, j), rule::in(next, r, j));
      });
      if (!fine) finite_[static_cast<std::size_t>(task)] = false;
      if constexpr (kOrthonormal) gram_.add_symmetric(panel(next, r), panel(next, r), task);
    });
    if (!all_finite())
      for (Matrix* memory : rule_.state()) clear_non_finite(*memory);
    if constexpr (kOrthonormal) kernel.polar(next, gram_.symmetric_total(), x);
  }
  double violation(ConstMatrixRef x, TallSkinny& kernel) const override { return M{}.violation(x, kernel); }
  std::vector<Matrix*> state() override {
    const auto all = rule_.state();
    return {all.begin(), all.end()};
  }

 private:
  static constexpr bool kOrthonormal = M::geometry == Geometry::kOrthonormal;
  bool all_finite() const {
    return std::all_of(finite_.begin(), finite_.end(), [](char fine) { return fine != 0; });
  }

  Rule rule_;
  GramSum gram_;
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
