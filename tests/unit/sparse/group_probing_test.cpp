// Which derivatives depend on which coordinates, by moving them in groups.
#include "sparse/group_probing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "magva/model.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

constexpr Index kHubs = 3;
constexpr Index kHubbedWidth = 60;
constexpr Index kHubbedSize = kHubs + kHubbedWidth * kHubbedWidth;

/// Three coordinates on which all depend, and a grid whose neighbours meet.
double grid_density(ConstVectorRef theta, VectorRef gradient) {
  gradient = .3 - theta.array();
  double sum = .3 * theta.sum() - .5 * theta.squaredNorm();
  const auto meet = [&](Index i, Index j, double weight) {
    const double d = theta(i) - theta(j);
    sum -= weight * (.5 * d * d + .1 * d * d * d * d);
    const double slope = weight * (d + .4 * d * d * d);
    gradient(i) -= slope;
    gradient(j) += slope;
  };
  for (Index k = 0; k < kHubbedWidth * kHubbedWidth; ++k) {
    for (Index hub = 0; hub < kHubs; ++hub) meet(kHubs + k, hub, .01);
    if ((k + 1) % kHubbedWidth != 0) meet(kHubs + k, kHubs + k + 1, 1);
    if (k + kHubbedWidth < kHubbedWidth * kHubbedWidth) meet(kHubs + k, kHubs + k + kHubbedWidth, 1);
  }
  return sum;
}

bool neighbours(Index i, Index j) {
  if (i == j) return true;
  if (i < kHubs || j < kHubs) return i >= kHubs || j >= kHubs;
  const Index a = std::min(i, j) - kHubs;
  const Index b = std::max(i, j) - kHubs;
  return b - a == kHubbedWidth || (b - a == 1 && b % kHubbedWidth != 0);
}

TEST(GroupProbing, FindsAllDependencesByFarFewerGradientsThanCoordinates) {
  const auto model = make_model(kHubbedSize, &grid_density);
  Evaluator evaluator(model, 1);
  const Vector at = test::random_matrix(kHubbedSize, 1, 1);
  Vector gradient(kHubbedSize);
  evaluator.evaluate(at, gradient);
  const auto found = probe_in_groups(evaluator, at, gradient, Vector::Constant(kHubbedSize, .1), 1);
  ASSERT_EQ(static_cast<Index>(found.size()), kHubbedSize);
  EXPECT_LT(evaluator.evaluations(), 1400);
  Index in_vain = 0;
  for (Index j = 0; j < kHubbedSize; ++j) {
    const auto& listed = found[static_cast<std::size_t>(j)];
    for (const Index i : listed) in_vain += neighbours(i, j) ? 0 : 1;
    // Either of two coordinates may list the other; hubs list all.
    for (const Index i : {j, j + 1, j + kHubbedWidth})
      if (j >= kHubs && i < kHubbedSize && neighbours(i, j)) {
        const auto& other = found[static_cast<std::size_t>(i)];
        EXPECT_TRUE(std::count(listed.begin(), listed.end(), i) + std::count(other.begin(), other.end(), j) >
                    0)
            << i << ' ' << j;
      }
  }
  for (Index hub = 0; hub < kHubs; ++hub)
    EXPECT_EQ(static_cast<Index>(found[static_cast<std::size_t>(hub)].size()), kHubbedSize - kHubs + 1);
  EXPECT_LT(in_vain, kHubbedSize / 10);
}

TEST(GroupProbing, GivesUpOnADenseHessian) {
  const auto model = make_model(kHubbedSize, [](ConstVectorRef theta, VectorRef gradient) {
    const double sum = theta.sum();
    gradient = -theta.array() - sum;
    return -.5 * theta.squaredNorm() - .5 * sum * sum;
  });
  Evaluator evaluator(model, 1);
  const Vector at = test::random_matrix(kHubbedSize, 1, 1);
  Vector gradient(kHubbedSize);
  evaluator.evaluate(at, gradient);
  EXPECT_TRUE(probe_in_groups(evaluator, at, gradient, Vector::Constant(kHubbedSize, .1), 1).empty());
}

}  // namespace
}  // namespace magva
