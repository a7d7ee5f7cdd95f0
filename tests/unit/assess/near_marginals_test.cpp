// Marginals by the weights of a Gaussian's own draws.
#include "assess/near_marginals.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/elbo.hpp"

namespace magva {
namespace {

const Gaussian kGaussian = Gaussian::dense(Vector{{1., -2.}}, Matrix{{1., 0.}, {.5, 2.}});

/// The weights that turn N(0, 1) of the first coordinate into N(shift, 1), the other one given it.
Vector tilting_weights(double shift, std::uint64_t seed, Index draws, Workers& workers) {
  const Matrix theta = elbo_draws(kGaussian, seed, 0, draws, workers);
  Vector weights = (shift * (theta.row(0).transpose().array() - 1)).exp();
  return weights / weights.sum();
}

TEST(WeightedChange, HasTheMeansAndStandardErrorsOfItsFormula) {
  const Index draws = 700;
  Workers workers(1);
  const Vector w = tilting_weights(.3, 9, draws, workers);
  const Matrix theta = elbo_draws(kGaussian, 9, 0, draws, workers);
  const WeightedChange found = weighted_change(kGaussian, 9, w, workers);
  const double each = 1. / static_cast<double>(draws);
  for (Index i = 0; i < 2; ++i) {
    const Vector z = (theta.row(i).transpose().array() - kGaussian.mean()(i)) / kGaussian.sd()(i);
    const Vector c = w.array() - each;
    const double shift = c.dot(z);
    const double square = 1 + c.dot(z.cwiseAbs2());
    EXPECT_NEAR(found.shift(i), shift, 1e-12);
    EXPECT_NEAR(found.log_sd(i), .5 * std::log(square - shift * shift), 1e-12);
    const Vector first = w.array() * (z.array() - shift) - each * z.array();
    const Vector second = w.array() * (z.array().square() - square) - each * (z.array().square() - 1);
    EXPECT_NEAR(found.shift_se(i), first.norm(), 1e-12);
    EXPECT_NEAR(found.log_sd_se(i), .5 * second.norm() / (square - shift * shift), 1e-12);
  }
}

// Known answers: the mean of the first moves by s, that of the second by s times their correlation, no sd
// changes. Over many seeds errors are as large as their standard errors say, and a fraction of what weighted
// means have.
TEST(WeightedChange, ErrsAsItSays) {
  const double s = .1;
  const double correlation = .5 / std::sqrt(4.25);
  const Index draws = 200;
  const int seeds = 400;
  Workers workers(1);
  Vector squares = Vector::Zero(4);
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto number = static_cast<std::uint64_t>(seed);
    const WeightedChange found =
        weighted_change(kGaussian, number, tilting_weights(s, number, draws, workers), workers);
    EXPECT_LT(found.shift_se.maxCoeff(), .3 / std::sqrt(static_cast<double>(draws)));
    squares(0) += std::pow((found.shift(0) - s) / found.shift_se(0), 2);
    squares(1) += std::pow((found.shift(1) - s * correlation) / found.shift_se(1), 2);
    squares(2) += std::pow(found.log_sd(0) / found.log_sd_se(0), 2);
    squares(3) += std::pow(found.log_sd(1) / found.log_sd_se(1), 2);
  }
  // A mean of squares of 400 standard normals has the standard error .07: four of these, and a tenth for
  // standard errors that are themselves estimated.
  for (Index k = 0; k < 4; ++k) EXPECT_NEAR(squares(k) / seeds, 1, .38) << k;
}

TEST(NearMarginals, TellWhichAreNear) {
  Workers workers(1);
  const auto near = [&](double shift) {
    const Vector w = tilting_weights(shift, 5, 1000, workers);
    return near_marginals(kGaussian, 5, {w.array().log(), .2, 1 / w.squaredNorm()}, .17, workers);
  };
  EXPECT_EQ(near(.05), (std::vector<bool>{true, true}));
  EXPECT_EQ(near(.3), (std::vector<bool>{false, true}));
}

TEST(NearMarginals, SayNothingWhereWeightsDoNotTell) {
  Workers workers(1);
  const Vector w = tilting_weights(.05, 5, 1000, workers);
  EXPECT_TRUE(near_marginals(kGaussian, 5, {w.array().log(), .8, 900}, .17, workers).empty());
  EXPECT_TRUE(near_marginals(kGaussian, 5, {w.array().log(), .2, 60}, .17, workers).empty());
}

}  // namespace
}  // namespace magva
