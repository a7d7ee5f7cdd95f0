#include "assess/reweighted.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/noise.hpp"

namespace magva {
namespace {

Matrix normals(Index rows, Index draws) {
  Matrix out(rows, draws);
  Noise(5, NoiseStream::kPosteriorDraws).fill(0, 0, out);
  return out;
}

TEST(Reweighted, EqualWeightsChangeNothing) {
  const Matrix values = normals(2, 1000);
  const auto worst = most_reweighted({"a", "b"}, values, Vector::Constant(1000, 1e-3));
  ASSERT_TRUE(worst);
  EXPECT_NEAR(worst->difference(), 0, 1e-12);
}

// Weights exp(z s - s^2/2) turn N(0, 1) into N(s, 1): the second quantity moves by s sds and exp of it
// widens.
TEST(Reweighted, FindsTheQuantityThatMoves) {
  const Index draws = 20'000;
  const double s = .5;
  Matrix values = normals(2, draws);
  Vector weights = (s * values.row(1).transpose().array() - s * s / 2).exp();
  weights /= weights.sum();
  const auto worst = most_reweighted({"still", "moves"}, values, weights);
  ASSERT_TRUE(worst);
  EXPECT_EQ(worst->name, "moves");
  // The weighted mean has a standard error of sqrt(E[w^2 (z - s)^2] / n) = sqrt(exp(s^2)(1 + s^2) / n) =
  // .009.
  EXPECT_NEAR(worst->weighted_mean, s, 4 * .009);
  EXPECT_NEAR(worst->difference(), s, 4 * .012);
}

TEST(Reweighted, ValuesThatAreNotFiniteAreLeftOut) {
  Matrix values = normals(2, 10);
  values(0, 3) = std::nan("");
  const auto worst = most_reweighted({"a", "b"}, values, Vector::Constant(10, .1));
  ASSERT_TRUE(worst);
  EXPECT_EQ(worst->name, "b");
}

}  // namespace
}  // namespace magva
