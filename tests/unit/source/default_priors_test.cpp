// Priors on the data's scale: their figures, their density and gradient, and that units do not matter.
#include "source/default_priors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "magva/fit.hpp"
#include "unit/table/support.hpp"

namespace magva::source {
namespace {

RowMatrix design() {
  RowMatrix x(5, 3);
  x << 1, 1000, 0, 1, 1001, 1, 1, 1002, 0, 1, 1003, 1, 1, 1004, 1;
  return x;
}

TEST(DefaultPriors, AreRstanarmsAtTheMeans) {
  const Vector y = (Vector(5) << 2, 4, 4, 4, 6).finished();
  const DesignMoments moments = design_moments(Design::own(design()));
  EXPECT_NEAR(moments.mean(1), 1002, 1e-10);
  EXPECT_NEAR(moments.sd(1), std::sqrt(2.5), 1e-12);
  EXPECT_NEAR(moments.sd(2), std::sqrt(.3), 1e-12);
  const IndependentPriors centred = default_priors(moments, identity_scale(y), true);
  const double sd = std::sqrt(2.0);
  EXPECT_NEAR(centred.location(0), 4, 1e-14);
  EXPECT_NEAR(centred.scale(0), 2.5 * sd, 1e-14);
  EXPECT_NEAR(centred.scale(1), 2.5 * sd / std::sqrt(2.5), 1e-14);
  const IndependentPriors raw = default_priors(moments, identity_scale(y), false);
  EXPECT_NEAR(raw.scale(0) * raw.scale(0),
              12.5 + std::pow(1002 * centred.scale(1), 2) + std::pow(.6 * centred.scale(2), 2), 1e-6);
  EXPECT_EQ(prior_text(centred, 0), "normal(4, 3.536)");
}

TEST(DefaultPriors, WithoutAnInterceptTheyReachFromZero) {
  const DesignMoments moments{(Vector(2) << 3, 0).finished(), (Vector(2) << 4, 2).finished()};
  const IndependentPriors priors = default_priors_through_zero(moments, {6, 20});
  EXPECT_NEAR(priors.scale(0), 25.0 / 5, 1e-14);
  EXPECT_NEAR(priors.scale(1), 25.0 / 2, 1e-14);
}

TEST(DefaultPriors, MomentsAreTheSameInEveryStorage) {
  const RowMatrix x = design();
  SparseMatrix sparse;
  sparse.cols = 3;
  for (Index i = 0; i < 5; ++i) {
    for (Index j = 0; j < 3; ++j)
      if (x(i, j) != 0) {
        sparse.columns.push_back(static_cast<std::int32_t>(j));
        sparse.values.push_back(x(i, j));
      }
    sparse.starts.push_back(static_cast<std::int64_t>(sparse.values.size()));
  }
  const DesignMoments dense = design_moments(Design::own(x));
  for (const Design& other : {Design::own(SingleRowMatrix(x.cast<float>())), Design::own(sparse)}) {
    const DesignMoments moments = design_moments(other);
    EXPECT_LT((moments.mean - dense.mean).norm(), 1e-9);
    EXPECT_LT((moments.sd - dense.sd).norm(), 1e-6);
  }
}

TEST(DefaultPriors, TheLogScaleFollowsCountsAndExposure) {
  const Vector counts = (Vector(3) << 0, 10, 20).finished();
  EXPECT_NEAR(log_scale(counts).location, std::log(10), 1e-14);
  EXPECT_NEAR(log_scale(counts, Vector::Constant(3, std::log(5))).location, std::log(2), 1e-14);
  EXPECT_EQ(log_scale(Vector::Zero(3)).location, 0);
}

/// Whether metres or kilometres: the same curve.
TEST(DefaultPriors, UnitsDoNotMatter) {
  const auto fitted = [](double unit, double response_unit) {
    std::string text = "y,x\n";
    for (int i = 0; i < 30; ++i)
      text += std::to_string(response_unit * (100 + 3 * i + 5 * std::sin(i))) + "," +
              std::to_string(unit * i) + "\n";
    table::DesignOptions options;
    options.response = "y";
    const ModelSource source = make_table_source(test::table_of(text), options, {});
    return fit(source).posterior;
  };
  const Gaussian plain = fitted(1, 1), scaled = fitted(1000, .01);
  EXPECT_NEAR(scaled.mean()(1) * 1e5, plain.mean()(1), .01 * plain.sd()(1));
  EXPECT_NEAR(scaled.sd()(1) * 1e5, plain.sd()(1), .01 * plain.sd()(1));
  EXPECT_NEAR(plain.mean()(1), 3, 3 * plain.sd()(1));
}

}  // namespace
}  // namespace magva::source
