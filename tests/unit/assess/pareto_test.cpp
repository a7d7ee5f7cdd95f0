#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "assess/pareto.hpp"
#include "magva/correct.hpp"
#include "magva/error.hpp"
#include "statistical/targets.hpp"

namespace magva {
namespace {

Vector pareto_quantiles(Index n, double shape) {
  Vector x(n);
  for (Index i = 0; i < n; ++i) {
    const double p = (static_cast<double>(i) + .5) / static_cast<double>(n);
    x(i) = std::expm1(-shape * std::log1p(-p)) / shape;
  }
  return x;
}

// At the quantiles themselves the estimate has no sampling error; what is left is the prior's pull of 10
// draws to 1/2.
TEST(Pareto, FindsTheShapeOfItsOwnQuantiles) {
  for (const double shape : {.1, .3, .7, 1.2}) {
    const ParetoFit fit = fit_pareto(pareto_quantiles(2000, shape));
    EXPECT_NEAR(fit.shape, (2000 * shape + 5) / 2010, .02) << shape;
    EXPECT_NEAR(fit.scale, 1, .05) << shape;
  }
}

// Weights that are Pareto distributed with P(w > x) = x^(-1/k) have, above any cut, excesses of shape k.
TEST(Pareto, KhatIsTheShapeOfTheWeightsTail) {
  const Index n = 10000;
  for (const double k : {.3, .6, .9}) {
    Vector log_weights(n);
    for (Index i = 0; i < n; ++i)
      log_weights(i) = -k * std::log((static_cast<double>(i) + .5) / static_cast<double>(n));
    EXPECT_NEAR(pareto_khat(log_weights), k, .05) << k;
  }
}

TEST(Pareto, EqualWeightsAreTheBestThereAre) {
  const SmoothedWeights smoothed = smooth_weights(Vector::Constant(1000, -7));
  EXPECT_LT(smoothed.khat, .5);
  EXPECT_NEAR(smoothed.effective, 1000, 1e-6);
}

// Of 100 weights the 20 largest are smoothed: 17 that differ, and the last three of those that are equal.
TEST(Pareto, OfEqualWeightsTheLaterOnesAreSmoothed) {
  Vector log_weights = Vector::Constant(100, -3);
  for (Index k = 0; k < 17; ++k) log_weights(7 + 5 * k) = -.1 * static_cast<double>(k);
  const Vector smoothed = smooth_weights(log_weights).log_weights;
  const double equal = smoothed(0);
  for (Index i = 0; i < 100; ++i) {
    const bool in_tail = log_weights(i) > -3 || i >= 97;
    EXPECT_EQ(smoothed(i) > equal, in_tail) << i;
  }
}

TEST(Pareto, NoFiniteWeightIsAnError) {
  EXPECT_THROW(smooth_weights(Vector::Constant(10, -std::numeric_limits<double>::infinity())), DataError);
}

TEST(Resample, DrawsAreDistinctAndNearerToThePosterior) {
  const auto model = make_model(1, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta(0) * theta(0);
  });
  const Gaussian wide = Gaussian::low_rank(Vector::Constant(1, .3), Matrix(1, 0), Vector::Constant(1, 1.3));
  const Matrix draws = importance_resample(model, wide, 1000, 3);
  EXPECT_EQ(std::set<double>(draws.data(), draws.data() + draws.size()).size(), 1000U);
  // Standard errors for 1000 draws: .032 of the mean, .022 of the sd; four of them, and the flattening of one
  // in ten.
  EXPECT_NEAR(draws.mean(), 0, .13 + .03);
  EXPECT_NEAR(std::sqrt((draws.array() - draws.mean()).square().mean()), 1, .09 + .03);
}

TEST(Resample, RefusesWhereTheWeightsRestOnAFewDraws) {
  const auto model = targets::student(3);
  const Gaussian narrow = Gaussian::low_rank(Vector::Zero(3), Matrix(3, 0), Vector::Constant(3, .3));
  EXPECT_THROW(importance_resample(model, narrow, 500, 1), DataError);
}

// A draw with much weight comes more than once, so that more is possible than with distinct draws.
TEST(Resample, CorrectsMomentsByRepeatingDraws) {
  const auto model = make_model(1, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta(0) * theta(0);
  });
  const Gaussian shifted = Gaussian::dense(Vector{{.7}}, Matrix{{1.}});
  EXPECT_THROW(importance_resample(model, shifted, 1000, 3), DataError);
  const Matrix draws = importance_corrected_draws(model, shifted, 1000, 3);
  // The pool of 10,000 is worth exp(-.49) of itself: the standard error of the mean is .013 from it, and .01
  // more from the choice of 1,000 by systematic resampling; four of these.
  EXPECT_NEAR(draws.mean(), 0, 4 * (.013 + .01));
  EXPECT_NEAR(std::sqrt((draws.array() - draws.mean()).square().mean()), 1, 4 * (.01 + .01));
  const auto student = targets::student(3);
  const Gaussian narrow = Gaussian::low_rank(Vector::Zero(3), Matrix(3, 0), Vector::Constant(3, .3));
  EXPECT_THROW(importance_corrected_draws(student, narrow, 500, 1), DataError);
}

// A k-hat of nearly equal weights is noise: nothing stands against such draws.
TEST(Resample, TakesNearlyEqualWeights) {
  const auto coin = make_model(1, [](ConstVectorRef theta, VectorRef gradient) {
    const double p = 1 / (1 + std::exp(-theta(0)));
    gradient(0) = 200 - 1000 * p;
    return 200 * theta(0) - 1000 * std::log1p(std::exp(theta(0)));
  });
  const Gaussian q = Gaussian::dense(Vector{{std::log(.25)}}, Matrix{{1 / std::sqrt(1000 * .2 * .8)}});
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    EXPECT_NO_THROW(importance_corrected_draws(coin, q, 100, seed));
}

TEST(Tails, AreToldApart) {
  const Gaussian q3 = Gaussian::low_rank(Vector::Zero(3), Matrix(3, 0), Vector::Ones(3));
  const auto kind = [](const Model& model, const Gaussian& q) { return probe_tails(model, q).kind; };
  EXPECT_EQ(kind(targets::student(3), q3), TailKind::kHeavy);
  EXPECT_EQ(kind(targets::improper(), q3), TailKind::kImproper);
  const auto normal = make_model(3, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  });
  EXPECT_EQ(kind(normal, q3), TailKind::kLight);
  const auto laplace = make_model(3, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta.cwiseSign();
    return -theta.cwiseAbs().sum();
  });
  EXPECT_EQ(kind(laplace, q3), TailKind::kLight);
  // Like a power law up to 128 sds, where the exponential is still the less.
  const auto bounded = make_model(1, [](ConstVectorRef theta, VectorRef gradient) {
    const double t = theta(0);
    gradient(0) = -.05 * (t > 0 ? 1 : -1) - 4 * t / (1 + t * t);
    return -.05 * std::abs(t) - 2 * std::log1p(t * t);
  });
  EXPECT_EQ(kind(bounded, Gaussian::low_rank(Vector::Zero(1), Matrix(1, 0), Vector::Ones(1))),
            TailKind::kLight);
  // It falls like a logarithm, but only where nothing is left.
  const auto student30 = make_model(1, [](ConstVectorRef theta, VectorRef gradient) {
    const double t2 = theta(0) * theta(0);
    gradient(0) = -31 * theta(0) / (30 + t2);
    return -15.5 * std::log1p(t2 / 30);
  });
  EXPECT_EQ(kind(student30, Gaussian::low_rank(Vector::Zero(1), Matrix(1, 0), Vector::Ones(1))),
            TailKind::kLight);
}

}  // namespace
}  // namespace magva
