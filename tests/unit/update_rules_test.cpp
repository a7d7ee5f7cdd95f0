// Five steps of every rule of the paper on both manifolds against independent figures.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "magva/error.hpp"
#include "rule/block.hpp"
#include "support/json_matrix.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

ManifoldKind manifold(const std::string& name) {
  return name == "stiefel" ? ManifoldKind::kStiefel : ManifoldKind::kGrassmann;
}

TEST(UpdateRules, AgreeWithTheReferenceOnBothManifolds) {
  for (const auto& figures : test::read_json("update_rules.json")) {
    const auto label = figures["manifold"].get<std::string>() + " " + figures["rule"].get<std::string>();
    RuleOptions options = rule_defaults(parse_rule(figures["rule"].get<std::string>()));
    options.step = figures["alpha"];
    options.decay = figures["beta"];
    options.epsilon = figures["epsilon"];
    Matrix x = test::matrix(figures["B0"]);
    Workers workers;
    TallSkinny kernel(x.rows(), x.cols(), workers);
    const auto update = make_update(manifold(figures["manifold"]), options, x.rows(), x.cols());
    for (std::size_t t = 0; t < figures["gradients"].size(); ++t) {
      update->step(x, test::matrix(figures["gradients"][t]), -1, kernel);
      const double error = (x - test::matrix(figures["iterates"][t])).cwiseAbs().maxCoeff();
      EXPECT_LT(error, 1e-10) << label << ", step " << t + 1;
    }
  }
}

TEST(UpdateRules, AccumulatorsAgreeWithTheReference) {
  for (const auto& figures : test::read_json("update_rules.json")) {
    const RuleKind kind = parse_rule(figures["rule"].get<std::string>());
    RuleOptions options = rule_defaults(kind);
    options.step = figures["alpha"];
    Matrix x = test::matrix(figures["B0"]);
    Workers workers;
    TallSkinny kernel(x.rows(), x.cols(), workers);
    const auto update = make_update(manifold(figures["manifold"]), options, x.rows(), x.cols());
    const auto agrees = [&](std::size_t part, const char* name, std::size_t t) {
      const Matrix expected = test::matrix(figures[name][t]);
      EXPECT_LT((*update->state()[part] - expected).cwiseAbs().maxCoeff(), 1e-10)
          << name << " of step " << t + 1;
    };
    for (std::size_t t = 0; t < figures["gradients"].size(); ++t) {
      update->step(x, test::matrix(figures["gradients"][t]), -1, kernel);
      if (kind == RuleKind::kMomentum) agrees(0, "momentum", t);
      if (kind == RuleKind::kRmsprop || kind == RuleKind::kAdadelta) agrees(0, "second_moment", t);
      if (kind == RuleKind::kAdadelta) agrees(1, "step_moment", t);
    }
  }
}

// Textbook recursions on scalars, epsilon where each rule has it.
TEST(UpdateRules, ReduceToTheOrdinaryRulesOnEuclideanBlocks) {
  const double beta = .95;
  const double epsilon = 1e-6;
  const double alpha = .05;
  for (const RuleKind kind :
       {RuleKind::kMomentum, RuleKind::kRmsprop, RuleKind::kAdadelta, RuleKind::kRmspropGuarded,
        RuleKind::kAdadeltaGuarded, RuleKind::kRmspropStable, RuleKind::kAdadeltaStable}) {
    Matrix x = Matrix::Constant(1, 1, 1.);
    Workers workers;
    TallSkinny kernel(1, 1, workers);
    const auto update = make_update(ManifoldKind::kEuclidean, rule_defaults(kind), 1, 1);
    double y = 1;
    double first = 0;
    double second = 0;
    for (int t = 0; t < 50; ++t) {
      const double g = 2 * x(0) + .3 * t;
      const double h = 2 * y + .3 * t;
      update->step(x, Matrix::Constant(1, 1, g), -1, kernel);
      double step = 0;
      if (kind == RuleKind::kMomentum) {
        first = beta * first + alpha * h;
        step = first;
      } else {
        second = beta * second + (1 - beta) * h * h;
        if (kind == RuleKind::kRmsprop || kind == RuleKind::kRmspropGuarded ||
            kind == RuleKind::kRmspropStable) {
          step = alpha * h / (std::sqrt(second) + epsilon);
        } else {
          const double ratio = kind != RuleKind::kAdadeltaStable
                                   ? (std::sqrt(first) + epsilon) / (std::sqrt(second) + epsilon)
                                   : std::sqrt((first + epsilon) / (second + epsilon));
          step = ratio * h;
          first = beta * first + (1 - beta) * step * step;
        }
      }
      y -= step;
      ASSERT_NEAR(x(0), y, 1e-12 * (1 + std::abs(y))) << name(kind) << " at step " << t;
    }
  }
}

TEST(UpdateRules, NeverStepToANonFinitePoint) {
  const double huge = std::numeric_limits<double>::max();
  const double inf = std::numeric_limits<double>::infinity();
  for (const RuleKind kind : {RuleKind::kBasic, RuleKind::kMomentum, RuleKind::kRmsprop, RuleKind::kAdadelta,
                              RuleKind::kRmspropGuarded, RuleKind::kAdadeltaGuarded, RuleKind::kRmspropStable,
                              RuleKind::kAdadeltaStable, RuleKind::kAdam})
    for (const ManifoldKind where :
         {ManifoldKind::kEuclidean, ManifoldKind::kStiefel, ManifoldKind::kGrassmann,
          ManifoldKind::kFixedRank, ManifoldKind::kLowerTrapezoidal}) {
      Matrix x = random_point(where, 6, 2, 3);
      Workers workers;
      TallSkinny kernel(6, 2, workers);
      const auto update = make_update(where, rule_defaults(kind), 6, 2);
      for (int t = 0; t < 20; ++t) {
        Matrix g = test::random_matrix(6, 2, static_cast<std::uint64_t>(t));
        if (t % 4 == 1) g(0, 0) = huge;
        if (t % 4 == 2) g(1, 1) = std::numeric_limits<double>::quiet_NaN();
        if (t % 4 == 3) g(2, 0) = inf;
        const Matrix before = x;
        update->step(x, g, -1e-3, kernel);
        if (before.cwiseAbs().maxCoeff() < 1e300) {
          ASSERT_TRUE(x.allFinite()) << name(kind) << " step " << t;
        }
      }
    }
}

TEST(RuleOptions, ReportEveryFault) {
  RuleOptions options;
  options.step = -1;
  options.decay = 2;
  options.epsilon = 0;
  EXPECT_EQ(options.validate("rule").size(), 3U);
  EXPECT_THROW(parse_rule("adamm"), UsageError);
}

}  // namespace
}  // namespace magva
