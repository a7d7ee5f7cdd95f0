// Where a block of rows ends depends on the processor's caches; a likelihood's sums do not.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/caches.hpp"
#include "core/vector.hpp"
#include "models/likelihood.hpp"

namespace magva {
namespace {

constexpr Index kRows = 2400;  // more than the factors of one product of the logistic likelihood
constexpr Index kDraws = detail::kLanes<detail::Vec>;

class AnyLikelihood : public ::testing::TestWithParam<std::shared_ptr<const Likelihood>> {
 protected:
  AnyLikelihood() : response_(kRows), weight_(Vector::Ones(kRows)), shapes_(kDraws) {
    for (Index i = 0; i < kRows; ++i) response_(i) = static_cast<double>(i % 3 == 0);
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
      const double own[] = {0.1 * static_cast<double>(s)};
      shapes_[s] = GetParam()->shape(own);
    }
  }

  ResponseBlock block(Index begin, Index rows) const {
    return {response_.data() + begin, weight_.data() + begin, rows, true};
  }

  static Vector predictors(Index count) { return Vector::LinSpaced(count, 0.0, 40.0).array().sin() * 2.0; }

  Vector response_;
  Vector weight_;
  std::vector<Shape> shapes_;
};

void expect_same(const BlockSums& a, const BlockSums& b) {
  EXPECT_EQ(a.log_likelihood, b.log_likelihood);
  EXPECT_EQ(a.nuisance_gradient, b.nuisance_gradient);
}

TEST_P(AnyLikelihood, SumsOfAVectorOfDrawsDoNotShowTheBlocks) {
  BlockSums whole;
  Vector eta = predictors(kRows * kDraws);
  GetParam()->evaluate_vector(block(0, kRows), eta.data(), shapes_.data(), whole);
  GetParam()->close(whole);
  for (const Index step : {8, 24, 128, 1040}) {
    BlockSums sums;
    Vector cut = predictors(kRows * kDraws);
    for (Index row = 0; row < kRows; row += step)
      GetParam()->evaluate_vector(block(row, std::min(step, kRows - row)), cut.data() + row * kDraws,
                                  shapes_.data(), sums);
    GetParam()->close(sums);
    expect_same(whole, sums);
    EXPECT_EQ(eta, cut);
  }
}

TEST_P(AnyLikelihood, SumsOfOneDrawDoNotShowTheBlocks) {
  BlockSums whole;
  Vector eta = predictors(kRows);
  GetParam()->evaluate_block(block(0, kRows), eta.data(), kRows, 1, shapes_.data(), &whole);
  GetParam()->close(whole);
  for (const Index step : {8, 24, 128, 1040}) {
    BlockSums sums;
    Vector cut = predictors(kRows);
    for (Index row = 0; row < kRows; row += step)
      GetParam()->evaluate_block(block(row, std::min(step, kRows - row)), cut.data() + row, kRows, 1,
                                 shapes_.data(), &sums);
    GetParam()->close(sums);
    expect_same(whole, sums);
    EXPECT_EQ(eta, cut);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, AnyLikelihood,
                         ::testing::Values(bernoulli_logit(), poisson_log(), gaussian(5.0),
                                           gaussian_known_noise(0.7), outlier_mixture({})));

TEST(Caches, AreOfSizesThatProcessorsHave) {
  const detail::CacheSizes& sizes = detail::cache_sizes();
  EXPECT_GE(sizes.first, 16 << 10);
  EXPECT_GE(sizes.second, sizes.first);
  EXPECT_GE(sizes.last, sizes.second);
}

}  // namespace
}  // namespace magva
