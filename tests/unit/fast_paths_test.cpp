// The vectorised kernels against plain forms.
#include <gtest/gtest.h>

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

#include "algorithm1/fitter.hpp"
#include "core/noise.hpp"
#include "core/panel.hpp"
#include "family/family.hpp"
#include "manifold/fixed_rank.hpp"
#include "manifold/grassmann.hpp"
#include "manifold/stiefel.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

double uniform(std::uint32_t high, std::uint32_t low) {
  const std::uint64_t bits = ((static_cast<std::uint64_t>(high) << 32U) | low) >> 12U;
  return (static_cast<double>(bits) + .5) * 0x1p-52;
}

TEST(Noise, IsBoxMullerOnTheBitsOfRandom123) {
  const std::uint64_t seed = 0x123456789abcdefU;
  const std::uint64_t iteration = 0x8877665544U;
  Matrix noise(1001, 3);
  Noise(seed, NoiseStream::kStarts).fill(iteration, 5, noise);
  const r123::Philox4x32::key_type key = {{0x89abcdefU, 0x1234567U}};
  for (Index s = 0; s < 3; ++s)
    for (Index i = 0; i < noise.rows(); ++i) {
      const auto word = r123::Philox4x32{}(
          {{static_cast<std::uint32_t>(i / 2), static_cast<std::uint32_t>(5 + s), 0x77665544U, 0x4000088U}},
          key);
      const double radius = std::sqrt(-2 * std::log(uniform(word[0], word[1])));
      const double angle = 2 * std::numbers::pi * uniform(word[2], word[3]);
      EXPECT_NEAR(noise(i, s), radius * (i % 2 == 0 ? std::cos(angle) : std::sin(angle)), 2e-15 * radius)
          << i << " " << s;
    }
}

TEST(Noise, OfSomeRowsIsThatOfAll) {
  const Noise source(3, NoiseStream::kFit);
  Matrix all(301, 1);
  source.fill(7, 2, all);
  for (const Range rows : {Range{0, 301}, Range{5, 133}, Range{128, 129}, Range{13, 14}, Range{6, 6}}) {
    Vector some = Vector::Zero(301);
    source.fill_rows(7, 2, rows, some.data());
    Vector expected = Vector::Zero(301);
    expected.segment(rows.begin, rows.size()) = all.col(0).segment(rows.begin, rows.size());
    EXPECT_EQ(some, expected) << rows.begin;
  }
}

struct Shape {
  Index m, p, k;
};

class Products : public testing::TestWithParam<Shape> {};

TEST_P(Products, AgreeWithEigen) {
  const auto [m, p, k] = GetParam();
  const Matrix a = test::random_matrix(m, p, 1);
  const Matrix b = test::random_matrix(m, k, 2);
  const Matrix small = test::random_matrix(p, k, 3);
  const Vector w = test::random_matrix(m, 1, 4).cwiseAbs();
  for (const int threads : {1, 2}) {
    Workers workers(threads);
    TallSkinny kernel(m, std::max(p, k), workers);
    const double tolerance = 1e-12 * static_cast<double>(m);
    Matrix gram(p, k);
    kernel.gram(a, b, gram);
    EXPECT_LT((gram - a.transpose() * b).cwiseAbs().maxCoeff(), tolerance);
    Matrix weighted(p, p);
    kernel.weighted_gram(a, w, weighted);
    EXPECT_LT((weighted - a.transpose() * w.asDiagonal() * a).cwiseAbs().maxCoeff(), tolerance);
    Matrix out = b;
    kernel.multiply(-1.5, a, small, .5, out);
    EXPECT_LT((out - (-1.5 * a * small + .5 * b)).cwiseAbs().maxCoeff(), 1e-12);
    Matrix square = a;
    const Matrix rotation = test::random_matrix(p, p, 5);
    kernel.multiply(1, square, rotation, 0, square);
    EXPECT_LT((square - a * rotation).cwiseAbs().maxCoeff(), 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Products,
                         testing::Values(Shape{1, 1, 1}, Shape{7, 3, 2}, Shape{8, 1, 5}, Shape{112, 4, 1},
                                         Shape{131, 7, 6}, Shape{300, 30, 40}, Shape{20'011, 10, 3}));

TEST(Combine, AgreesWithEigen) {
  for (const Index rows : {1, 8, 61, 128})
    for (Index p = 1; p <= 13; ++p) {
      const Matrix x = test::random_matrix(rows, p, 1);
      const Matrix v = test::random_matrix(rows, p, 2);
      const Matrix left = test::random_matrix(p, p, 3);
      const Matrix right = test::random_matrix(p, p, 4);
      Matrix in_place = x;
      Matrix scratch(rows, p);
      PrefetchQueue none;
      const Range all{0, rows};
      combine(mutable_panel(in_place, all), left, panel(v, all), right, mutable_panel(scratch, all), none);
      EXPECT_LT((in_place - (x * left + v * right)).cwiseAbs().maxCoeff(), 1e-13) << rows << " x " << p;
    }
}

/// The printed AdaDelta with the manifold's own functions, a pass for each operation.
template <class M>
void plain_adadelta(const RuleOptions& options, Matrix& x, const Matrix& g, Matrix& squares, Matrix& steps,
                    Matrix& previous, TallSkinny& kernel) {
  const M manifold;
  const double beta = options.decay;
  const auto accumulate = [&](const Matrix& at, const Matrix& v, Matrix& into) {
    Matrix square = v.cwiseAbs2();
    manifold.project(at, square, square, kernel);
    manifold.transport(at, into, into, kernel);
    into = beta * into + (1 - beta) * square;
  };
  const auto root = [&](double e) { return (e < 0 ? -1 : 1) * std::sqrt(std::abs(e)) + options.epsilon; };
  accumulate(x, g, squares);
  Matrix u(x.rows(), x.cols());
  for (Index i = 0; i < u.size(); ++i) {
    const double floor = options.guard * std::sqrt(1 - beta) * std::abs(g(i));
    const double below = root(squares(i));
    u(i) = g(i) * root(steps(i)) / (below < 0 ? -std::max(-below, floor) : std::max(below, floor));
  }
  accumulate(previous, u, steps);
  previous = x;
  manifold.project(x, u, u, kernel);
  manifold.retract(x, u, x, kernel);
}

template <class M>
ManifoldKind kind_of() {
  if (std::is_same_v<M, Stiefel>) return ManifoldKind::kStiefel;
  return std::is_same_v<M, Grassmann> ? ManifoldKind::kGrassmann : ManifoldKind::kFixedRank;
}

template <class M>
class FusedRules : public testing::Test {};
using Curved = testing::Types<Stiefel, Grassmann, FixedRank>;
TYPED_TEST_SUITE(FusedRules, Curved);

TYPED_TEST(FusedRules, AgreeWithAPassForEachOperation) {
  const ManifoldKind kind = kind_of<TypeParam>();
  for (const Index m : {13, 300, 17'000}) {
    Workers workers;
    TallSkinny kernel(m, 5, workers);
    const RuleOptions options = rule_defaults(RuleKind::kAdadeltaGuarded);
    const auto update = make_update(kind, options, m, 5);
    Matrix fused = random_point(kind, m, 5, 9);
    Matrix plain = fused;
    Matrix previous = fused;
    Matrix squares = Matrix::Zero(m, 5);
    Matrix steps = Matrix::Zero(m, 5);
    for (std::uint64_t t = 0; t < 4; ++t) {
      const Matrix g = test::random_matrix(m, 5, 20 + t);
      update->step(fused, g, 1, kernel);
      plain_adadelta<TypeParam>(options, plain, g, squares, steps, previous, kernel);
      EXPECT_LT((fused - plain).cwiseAbs().maxCoeff(), 1e-9) << m << ", step " << t;
    }
  }
}

/// The basic rule's tangent step is the projected gradient. Long gradients are retracted by another path than
/// short ones; both agree with the manifold's own functions.
TYPED_TEST(FusedRules, RetractGradientsOfAnyLength) {
  constexpr Index kRank = 4;
  for (const Index m : {16, 301})
    for (const double length : {1e-6, 1., 30., 1e4, 1e120}) {
      Workers workers;
      TallSkinny kernel(m, kRank, workers);
      RuleOptions options = rule_defaults(RuleKind::kBasic);
      options.step = 1;
      const auto update = make_update(kind_of<TypeParam>(), options, m, kRank);
      Matrix fused = random_point(kind_of<TypeParam>(), m, kRank, 9);
      Matrix plain = fused;
      const Matrix g = length / std::sqrt(m) * test::random_matrix(m, kRank, 20);
      update->step(fused, g, .5, kernel);
      Matrix u = .5 * g;
      TypeParam{}.project(plain, u, u, kernel);
      TypeParam{}.retract(plain, u, plain, kernel);
      // The Gram matrix of a step of length 1e3^(1/2) carries rounding errors of 1e3 times the machine's.
      EXPECT_LT((fused - plain).norm(), 1e-12 * (1 + plain.norm())) << m << ", length " << length;
      EXPECT_LT(update->violation(fused, kernel), 1e-12) << m << ", length " << length;
    }
}

/// A step of B with its gradient computed panel by panel, against the step with the stored one.
TEST(TwoPasses, GiveTheStepOfTheStoredGradient) {
  const Index m = 5000;
  Workers workers(2);
  for (const FamilyKind kind :
       {FamilyKind::kStiefel, FamilyKind::kGrassmann, FamilyKind::kFixedRank, FamilyKind::kVafc})
    for (const RuleKind rule : {RuleKind::kBasic, RuleKind::kMomentum, RuleKind::kRmsprop,
                                RuleKind::kAdadelta, RuleKind::kAdadeltaStable, RuleKind::kAdam}) {
      FamilyOptions options;
      options.kind = kind;
      const auto stored = make_family(options, m, 2, 1, workers);
      const auto made = make_family(options, m, 2, 1, workers);
      const Matrix noise = test::random_matrix(m + 4, 2, 3);
      const Vector weight = Vector::Constant(2, .5);
      Matrix phi(m, 2);
      Matrix g = test::random_matrix(m, 2, 4);
      TallSkinny kernel(m, 4, workers);
      Block& b_stored = stored->block(BlockKind::kFactors);
      Block& b_made = made->block(BlockKind::kFactors);
      const auto step_stored = make_update(b_stored.manifold, rule_defaults(rule), m, 4);
      const auto step_made = make_update(b_stored.manifold, rule_defaults(rule), m, 4);
      for (int t = 0; t < 3; ++t) {
        stored->prepare();
        stored->draw(noise, phi);
        stored->gradient(noise, weight, Estimator::kEntropy, g);
        made->prepare_and_draw(noise, phi);
        RowwiseFamily* by_rows = made->by_rows();
        ASSERT_NE(by_rows, nullptr);
        by_rows->start_gradient(noise, weight, Estimator::kEntropy, g);
        step_stored->step(b_stored.value, b_stored.gradient, .1, kernel);
        step_made->start(b_made.value, .1, kernel);
        sweep(m, workers, [&](Range r, Index task) {
          const MutablePanel rows = step_made->gradient_panel(r, task, kernel);
          by_rows->compute_gradient_rows(r, task, rows);
          step_made->take_gradient(b_made.value, r, task, rows, kernel);
        });
        if (step_made->finish_gradient_pass(b_made.value, kernel))
          sweep_back(m, workers,
                     [&](Range r, Index task) { step_made->write_rows(b_made.value, r, task, kernel); });
        by_rows->finish_gradient();
        for (std::size_t other = 0; other < stored->blocks().size(); ++other) {
          const Block& expected = stored->blocks()[other];
          const Block& block = made->blocks()[other];
          EXPECT_EQ(block.value, expected.value)
              << name(kind) << " " << name(rule) << " " << to_string(block.kind);
          if (block.kind == BlockKind::kFactorScale) {
            EXPECT_EQ(block.gradient, expected.gradient) << name(kind);
          }
        }
      }
    }
}

/// An iteration does all it can with the rows that the factors' update has in cache: the updates of mu and
/// d2, and the next draws. Here, one block after the other. The largest m is written past the caches.
void expect_iterations_by_blocks(FamilyKind kind, RuleKind rule, Index m, Index rank) {
  const auto model = make_model(m, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta.array() - theta.array().cube();
    return -.5 * theta.squaredNorm() - .25 * theta.array().square().square().sum();
  });
  FitterOptions options;
  options.family = kind;
  options.rank = rank;
  options.factor_rule = rule_defaults(rule);
  options.draws = 2;
  options.threads = 2;
  Fitter fitter(model, options);
  Workers workers;
  const auto family = make_family(options.family_options(), m, options.draws, options.seed, workers);
  TallSkinny kernel(m, rank, workers);
  std::vector<std::unique_ptr<BlockUpdate>> updates;
  for (const Block& block : family->blocks())
    updates.push_back(make_update(block.manifold,
                                  block.kind == BlockKind::kFactors ? options.factor_rule : options.mean_rule,
                                  block.value.rows(), block.value.cols()));
  Scratch scratch;
  Evaluation evaluation{scratch, workers};
  Matrix noise(rank + m, 2), phi(m, 2), g(m, 2);
  Vector log_density(2);
  const Vector weight = Vector::Constant(2, .5);
  for (std::uint64_t t = 0; t < 3; ++t) {
    fitter.step();
    Noise(options.seed, NoiseStream::kFit).fill(t, 0, noise);
    family->prepare_and_draw(noise, phi);
    model.evaluate(phi, log_density, g, evaluation);
    family->gradient(noise, weight, options.estimator, g);
    for (std::size_t b = 0; b < updates.size(); ++b) {
      Block& block = family->blocks()[b];
      updates[b]->step(block.value, block.gradient, 1, kernel);
    }
  }
  for (std::size_t b = 0; b < updates.size(); ++b)
    EXPECT_EQ(fitter.family().blocks()[b].value, family->blocks()[b].value)
        << name(kind) << " " << name(rule) << " " << to_string(family->blocks()[b].kind) << ", m = " << m;
}

TEST(Iterations, ByRowsEqualThoseByBlocks) {
  for (const FamilyKind kind :
       {FamilyKind::kStiefel, FamilyKind::kGrassmann, FamilyKind::kFixedRank, FamilyKind::kVafc})
    for (const RuleKind rule : {RuleKind::kAdadeltaStable, RuleKind::kAdadeltaGuarded, RuleKind::kAdam})
      for (const Index m : {37, 5000}) expect_iterations_by_blocks(kind, rule, m, 3);
  expect_iterations_by_blocks(FamilyKind::kStiefel, RuleKind::kAdadeltaStable, 120'001, 9);
}

}  // namespace
}  // namespace magva
