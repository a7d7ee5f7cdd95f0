#include "mixture/mixture_of_chains.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "magva/posterior.hpp"

namespace magva {
namespace {

constexpr Index kFunnelCoordinates = 11, kFunnelChains = 64, kFunnelDraws = 64 * 200;

Gaussian standard_normal() {
  return Gaussian::dense(Vector::Zero(kFunnelCoordinates),
                         Matrix::Identity(kFunnelCoordinates, kFunnelCoordinates));
}

/// The first coordinate is N(0, .8^2), and the logarithm of the sd of all others.
Matrix funnel_draws(std::uint64_t seed) {
  Matrix out = standard_normal().draws(kFunnelDraws, seed);
  out.row(0) *= .8;
  for (Index i = 1; i < out.rows(); ++i) out.row(i).array() *= out.row(0).array().exp();
  return out;
}

TEST(MixtureOfChains, FollowsAFunnel) {
  const Matrix draws = funnel_draws(1);
  const auto mixture = mixture_of_chains(standard_normal(), draws, kFunnelChains);
  ASSERT_NE(mixture, nullptr);
  EXPECT_GT(mixture->components().size(), 4U);
  // The mean is that of the draws. Halves of heavy-tailed ones, by which the covariances of cells are chosen,
  // know sds to .03.
  const Vector mean = draws.rowwise().mean();
  const Vector sd = ((draws.colwise() - mean).array().square().rowwise().mean()).sqrt();
  EXPECT_LT((mixture->mean() - mean).cwiseQuotient(sd).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_LT(mixture->sd().cwiseQuotient(sd).array().log().abs().maxCoeff(), .1);
  // By other draws it is nearer than the Gaussian with their moments, by nats: given the first coordinate the
  // others' log sds vary by .8, which costs the Gaussian .8^2 for each of ten.
  const Matrix other = funnel_draws(2);
  const Gaussian gaussian = Gaussian::low_rank(mean, Matrix(kFunnelCoordinates, 0), sd);
  EXPECT_GT((mixture->log_density(other) - gaussian.log_density(other)).mean(), 4);
  // A Gaussian has the same sd of the second where the first is low as where it is high; the mixture has not.
  const Matrix own = mixture->draws(20'000, 3);
  double low = 0, high = 0, lows = 0, highs = 0;
  for (Index s = 0; s < own.cols(); ++s) {
    if (own(0, s) < -.8) low += std::pow(own(1, s), 2), ++lows;
    if (own(0, s) > .8) high += std::pow(own(1, s), 2), ++highs;
  }
  EXPECT_GT(std::log((high / highs) / (low / lows)), 3);  // 4.9 of the funnel, whose cells are an sd wide
}

TEST(MixtureOfChains, IsNoneOfNormalDraws) {
  const Matrix draws = standard_normal().draws(kFunnelDraws, 4);
  EXPECT_EQ(mixture_of_chains(standard_normal(), draws, kFunnelChains), nullptr);
}

}  // namespace
}  // namespace magva
