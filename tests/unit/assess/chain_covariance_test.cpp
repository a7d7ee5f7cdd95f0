#include "assess/chain_covariance.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>

#include "magva/posterior.hpp"

namespace magva {
namespace {

constexpr Index kNeighbours = 30, kNeighbourChains = 64, kDrawsOfChain = 40;

/// Neighbours are correlated by .9, so that their differences are far narrower than they are.
Matrix of_neighbours() {
  Matrix out(kNeighbours, kNeighbours);
  for (Index i = 0; i < kNeighbours; ++i)
    for (Index j = 0; j < kNeighbours; ++j) out(i, j) = std::pow(.9, static_cast<double>(std::abs(i - j)));
  return out;
}

Gaussian with(const Matrix& covariance) {
  return Gaussian::dense(Vector::LinSpaced(kNeighbours, -1, 1), covariance.llt().matrixL());
}

TEST(ChainCovariance, IsThatOfDrawsWhereTheyTell) {
  const Matrix truth = of_neighbours();
  const Matrix draws = with(truth).draws(kNeighbourChains * kDrawsOfChain, 1);
  const Gaussian q = with(Matrix::Identity(kNeighbours, kNeighbours));
  const Gaussian found =
      gaussian_of_chains(q, q.mean(), draws, chain_of_columns(draws.cols(), kNeighbourChains));
  EXPECT_EQ(found.mean(), q.mean());
  // 2,560 draws know a variance to 2.8 %; of 30 sums of neighbours the worst is off by three times that.
  for (Index i = 0; i + 1 < kNeighbours; ++i) {
    const double narrow =
        found.covariance(i, i) + found.covariance(i + 1, i + 1) - 2 * found.covariance(i, i + 1);
    EXPECT_NEAR(found.covariance(i, i), 1, .1) << i;
    EXPECT_NEAR(narrow / .2, 1, .12) << i;
  }
}

TEST(ChainCovariance, IsTheGaussiansWhereDrawsShowNothingElse) {
  const Gaussian q = with(of_neighbours());
  const Matrix draws = q.draws(kNeighbourChains * kDrawsOfChain, 2);
  const Gaussian found =
      gaussian_of_chains(q, q.mean(), draws, chain_of_columns(draws.cols(), kNeighbourChains));
  // Half of the draws know a variance to 4 %, which costs .0004 nats for each of 30; the draws' own
  // covariance would cost .09.
  EXPECT_LT(kl_divergence(q, found), .02);
}

// Each chain stays where it began: 64 of them know a variance to 18 % only, however long they are.
TEST(ChainCovariance, CountsChainsWhereTheseDoNotMove) {
  const Gaussian q = with(of_neighbours());
  const Matrix places = q.draws(kNeighbourChains, 3);
  Matrix draws(kNeighbours, kNeighbourChains * kDrawsOfChain);
  for (Index c = 0; c < kNeighbourChains; ++c)
    draws.middleCols(c * kDrawsOfChain, kDrawsOfChain) = places.col(c).replicate(1, kDrawsOfChain);
  EXPECT_LT(kl_divergence(
                q, gaussian_of_chains(q, q.mean(), draws, chain_of_columns(draws.cols(), kNeighbourChains))),
            .5);
}

}  // namespace
}  // namespace magva
