#include "magva/block.hpp"

#include "magva/manifold/euclidean.hpp"
#include "magva/manifold/fixed_rank.hpp"
#include "magva/manifold/grassmann.hpp"
#include "magva/manifold/stiefel.hpp"
#include "magva/rule/rules.hpp"

namespace magva {

namespace {

bool all_finite(ConstMatrixRef x) { return std::isfinite((x.array() * 0).sum()); }

void clear_non_finite(MatrixRef x) { x = x.array().isFinite().select(x, 0); }

template <class Rule, Manifold M>
class RuleOnManifold final : public BlockUpdate {
 public:
  RuleOnManifold(const RuleOptions& options, Index rows, Index cols) : rule_(options, rows, cols) {}

  void step(MatrixRef x, ConstMatrixRef gradient, double scale, MatrixRef work, TallSkinny& kernel) override {
    rule_.direction(manifold_, x, gradient, work, kernel);
    if (!all_finite(work)) recover(x, work, kernel);
    work *= scale;
    manifold_.retract(x, work, x, kernel);
  }
  double violation(ConstMatrixRef x, TallSkinny& kernel) const override {
    return manifold_.violation(x, kernel);
  }
  std::vector<Matrix*> state() override {
    const auto all = rule_.state();
    return {all.begin(), all.end()};
  }

 private:
  void recover(ConstMatrixRef x, MatrixRef work, TallSkinny& kernel) {
    clear_non_finite(work);
    manifold_.project(x, work, work, kernel);
    for (Matrix* memory : rule_.state()) clear_non_finite(*memory);
  }

  M manifold_;
  Rule rule_;
};

template <Manifold M>
std::unique_ptr<BlockUpdate> make_on(const RuleOptions& rule, Index rows, Index cols) {
  switch (rule.kind) {
    case RuleKind::kBasic:
      return std::make_unique<RuleOnManifold<rule::Basic, M>>(rule, rows, cols);
    case RuleKind::kMomentum:
      return std::make_unique<RuleOnManifold<rule::Momentum, M>>(rule, rows, cols);
    case RuleKind::kRmsprop:
    case RuleKind::kRmspropGuarded:
      return std::make_unique<RuleOnManifold<rule::Rmsprop, M>>(rule, rows, cols);
    case RuleKind::kAdadelta:
    case RuleKind::kAdadeltaGuarded:
      return std::make_unique<RuleOnManifold<rule::Adadelta, M>>(rule, rows, cols);
    case RuleKind::kRmspropStable:
      return std::make_unique<RuleOnManifold<rule::RmspropStable, M>>(rule, rows, cols);
    case RuleKind::kAdadeltaStable:
      return std::make_unique<RuleOnManifold<rule::AdadeltaStable, M>>(rule, rows, cols);
    case RuleKind::kAdam:
      return std::make_unique<RuleOnManifold<rule::Adam, M>>(rule, rows, cols);
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
