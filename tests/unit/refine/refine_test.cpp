// The parts of the refinement, each alone: geometry, differentials, expected curvature, steps.
#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>

#include <algorithm>
#include <cmath>

#include "core/elbo.hpp"
#include "core/noise.hpp"
#include "refine/low_rank_covariance.hpp"
#include "refine/low_rank_differential.hpp"
#include "refine/promise.hpp"
#include "refine/refinement.hpp"
#include "statistical/targets.hpp"

namespace magva {
namespace {

constexpr Index kSize = 7;
constexpr Index kRank = 2;

Matrix normals(Index rows, Index cols, std::uint64_t seed) {
  Matrix out(rows, cols);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, out);
  return out;
}

Matrix random_precision() {
  const Matrix x = normals(2 * kSize, kSize, 5);
  return x.transpose() * x;
}

struct Fixture : ::testing::Test {
  Workers workers;
  Matrix w = normals(kSize, kRank, 1);
  Vector d = normals(kSize, 1, 2).cwiseAbs().array() + .5;
  LowRankCovariance covariance{w, d, workers};
  Matrix precision = random_precision();

  Matrix sigma() const { return w * w.transpose() + Matrix(d.cwiseAbs2().asDiagonal()); }
  Matrix inverse() const { return sigma().llt().solve(Matrix::Identity(kSize, kSize)); }
  /// The change of Sigma along a direction.
  Matrix change(const CovarianceTangent& x) const {
    return w * x.factors.transpose() + x.factors * w.transpose() +
           Matrix((2 * d.cwiseAbs2().cwiseProduct(x.scales)).asDiagonal());
  }
  static CovarianceTangent direction(std::uint64_t seed) {
    return {normals(kSize, kRank, seed), normals(kSize, 1, seed + 1)};
  }
  /// Draws, and the gradients of log N(0, precision^-1) around them.
  PairBatch batch(Index pairs, std::uint64_t seed) const {
    PairBatch out;
    out.noise = normals(kSize + kRank, pairs, seed);
    covariance.draw(out);
    out.half_difference = -precision * out.deviation;
    out.pair_mean = Matrix::Zero(kSize, pairs);
    return out;
  }
};

using LowRankGeometry = Fixture;

TEST_F(LowRankGeometry, DrawsAndTheirProductsWithThePrecision) {
  const PairBatch drawn = batch(5, 3);
  const Matrix expected = w * drawn.noise.topRows(kRank) + d.asDiagonal() * drawn.noise.bottomRows(kSize);
  EXPECT_LT((drawn.deviation - expected).norm(), 1e-12);
  EXPECT_LT((drawn.precision_times_delta - inverse() * expected).norm(), 1e-10);
  EXPECT_NEAR(covariance.log_determinant(), std::log(sigma().determinant()), 1e-10);
}

TEST_F(LowRankGeometry, MetricIsFishers) {
  const CovarianceTangent x = direction(11);
  const CovarianceTangent y = direction(13);
  const double fisher = .5 * (inverse() * change(x) * inverse() * change(y)).trace();
  EXPECT_NEAR(inner(covariance.metric(x), y), fisher, 1e-9 * std::abs(fisher) + 1e-9);
}

// Conjugate gradients leave 1e-4 of the squared residual, and damping 1e-3 of the metric.
TEST_F(LowRankGeometry, NaturalGradientSolvesForTheDirection) {
  const CovarianceTangent x = direction(17);
  const CovarianceTangent found = covariance.natural_gradient(covariance.metric(x), nullptr);
  EXPECT_LT((change(found) - change(x)).norm(), .05 * change(x).norm());
}

TEST_F(LowRankGeometry, DifferentialWithTheRightCurvatureIsExact) {
  auto curvature = make_dense_curvature(precision);
  const PairBatch drawn = batch(3, 3);
  curvature->prepare(drawn, *covariance.low_rank());
  ASSERT_TRUE(curvature->in_use());
  const CovarianceTangent found = covariance.differential(drawn, {0, 3}, curvature.get());
  // Of -tr(A Sigma)/2 + log|Sigma|/2 by W and log d.
  const Matrix g = inverse() - precision;
  EXPECT_LT((found.factors - g * w).norm(), 1e-9 * (g * w).norm());
  EXPECT_LT((found.scales - g.diagonal().cwiseProduct(d.cwiseAbs2())).norm(), 1e-9 * g.norm());
}

TEST_F(LowRankGeometry, DifferentialWithoutCurvatureIsUnbiased) {
  constexpr Index kPairs = 20'000;
  const PairBatch drawn = batch(kPairs, 3);
  const Matrix g = inverse() - precision;
  Vector sum = Vector::Zero(kSize);
  Vector squares = Vector::Zero(kSize);
  constexpr Index kParts = 50;
  for (Index k = 0; k < kParts; ++k) {
    const Vector part =
        covariance.differential(drawn, {k * kPairs / kParts, kPairs / kParts}, nullptr).scales;
    sum += part / kParts;
    squares += part.cwiseAbs2() / kParts;
  }
  const Vector se = ((squares - sum.cwiseAbs2()) / (kParts - 1)).cwiseSqrt();
  // Seven coordinates: four standard errors.
  const Vector error = sum - g.diagonal().cwiseProduct(d.cwiseAbs2());
  EXPECT_LT(error.cwiseQuotient(se).cwiseAbs().maxCoeff(), 4);
}

TEST_F(LowRankGeometry, CoordinatesOfTurnedFactorsAreThoseOfTheReference) {
  const Matrix turn = normals(kRank, kRank, 23).householderQr().householderQ();
  const LowRankCovariance turned(w * turn, d, workers);
  const CovarianceTangent reference = covariance.coordinates(nullptr);
  const CovarianceTangent found = turned.coordinates(&reference);
  EXPECT_LT((found.factors - reference.factors).norm(), 1e-9);
}

TEST_F(LowRankGeometry, AMoveIsBounded) {
  const Vector before = covariance.gaussian(Vector::Zero(kSize)).sd();
  CovarianceTangent far = direction(29);
  far.factors *= 1e6;
  far.scales *= 1e6;
  covariance.move(far, 1);
  const Vector after = covariance.gaussian(Vector::Zero(kSize)).sd();
  // No variance grows by more than the first-order change of 1, and its square, times e^2 for the residuals.
  EXPECT_LT(after.cwiseQuotient(before).maxCoeff(), 4);
}

TEST(FullRankGeometry, HasNoDifferentialAtTheGaussianPosterior) {
  const Matrix precision = random_precision();
  const auto covariance = make_full_rank(precision);
  PairBatch batch;
  batch.noise = normals(kSize, 4, 3);
  covariance->draw(batch);
  batch.half_difference = -precision * batch.deviation;
  EXPECT_LT(covariance->differential(batch, {0, 4}, nullptr).factors.norm(), 1e-9);
}

// Above a certain m a step goes a share of the way from the precision to the expected curvature.
TEST(FullRankGeometry, AStepInLargeDimensionsMixesPrecisions) {
  constexpr Index kLarge = 150;
  const Matrix x = normals(2 * kLarge, kLarge, 5) / std::sqrt(2. * kLarge);
  const Matrix precision = x.transpose() * x + Matrix::Identity(kLarge, kLarge);
  const Matrix curvature = precision + .5 * Matrix(normals(kLarge, 1, 6).cwiseAbs().cwiseMin(1).asDiagonal());
  const auto covariance = make_full_rank(precision);
  // X = I - R' A R, from the deviations R of unit noise.
  PairBatch batch;
  batch.noise = Matrix::Identity(kLarge, kLarge);
  covariance->draw(batch);
  const Matrix& root = batch.deviation;
  const CovarianceTangent direction{Matrix::Identity(kLarge, kLarge) - root.transpose() * curvature * root,
                                    Vector()};
  covariance->move(direction, .5);
  const Matrix expected = (.5 * precision + .5 * curvature).llt().solve(Matrix::Identity(kLarge, kLarge));
  EXPECT_LT((covariance->coordinates(nullptr).factors - expected).norm(), 1e-10 * expected.norm());
  EXPECT_NEAR(covariance->log_determinant(), covariance->gaussian(Vector::Zero(kLarge)).log_determinant(),
              1e-8);
}

TEST(FullRankGeometry, AStepInLargeDimensionsIsBounded) {
  constexpr Index kLarge = 150;
  const auto covariance = make_full_rank(Matrix::Identity(kLarge, kLarge));
  const Matrix x = 1e6 * normals(kLarge, kLarge, 7);
  covariance->move({x + x.transpose(), Vector()}, 1);
  const Vector sd = covariance->gaussian(Vector::Zero(kLarge)).sd();
  EXPECT_LT(sd.maxCoeff(), 4);
  EXPECT_GT(sd.minCoeff(), .5);
}

TEST_F(LowRankGeometry, DenseCurvatureIsLearned) {
  auto curvature = make_dense_curvature(3 * precision);
  const double before = (curvature->times(w, *covariance.low_rank()) - precision * w).norm();
  for (std::uint64_t k = 0; k < 60; ++k) {
    const PairBatch drawn = batch(32, 100 + k);
    curvature->prepare(drawn, *covariance.low_rank());
    curvature->learn(drawn);
  }
  EXPECT_LT((curvature->times(w, *covariance.low_rank()) - precision * w).norm(), .05 * before);
}

// Mean-field where A has one large direction besides the identity: Lanczos finds it and bounds the rest.
TEST(Sketch, FindsALargeDirection) {
  constexpr Index kLarge = 300;
  Workers workers;
  const Vector u = normals(kLarge, 1, 7).normalized();
  const Matrix a = Matrix::Identity(kLarge, kLarge) + 50 * u * u.transpose();
  const LowRankCovariance sigma(Matrix(kLarge, 0), Vector::Ones(kLarge), workers);
  const auto product = [&](ConstVectorRef x) {
    Matrix two(kLarge, 2);
    two.col(0) = two.col(1) = a * x;
    return two;
  };
  const SketchedCurvature sketch(sigma, product, normals(kLarge, 2, 9));
  const Vector g = normals(kLarge, 1, 10);
  EXPECT_LT((sketch.times(u, sigma) - a * u).norm(), .02 * 51);
  EXPECT_LT((sketch.mean_step(g, sigma) - a.llt().solve(g)).norm(), .05 * g.norm());
  EXPECT_LT((sketch.known_part(u) - u).norm(), .02);
}

TEST(StepControl, FollowsTheNoise) {
  StepControl clean;
  StepControl noisy;
  for (int k = 0; k < 40; ++k) {
    clean.observe({1, 1, 0});
    noisy.observe({0, 1, 0});
  }
  EXPECT_DOUBLE_EQ(clean.step(), .5);
  EXPECT_TRUE(clean.signal_dominated());
  EXPECT_DOUBLE_EQ(noisy.step(), .05);
  EXPECT_TRUE(noisy.noise_dominated());
}

TEST(StepControl, ShrinksWhereStepsOvershoot) {
  StepControl control;
  for (int k = 0; k < 40; ++k) control.observe({1, 1, 0});
  for (int k = 0; k < 10; ++k) control.observe({1, 1, -1});
  EXPECT_LT(control.step(), .4);
}

TEST(Refinement, ConvergesToAGaussianPosteriorFromAPoorStart) {
  const auto model = targets::chain(5);
  Evaluator evaluator(model, 1);
  const Vector sd = (Vector::LinSpaced(5, -3, 3) * std::log(10.)).array().exp();
  GaussianStart start{Vector::LinSpaced(5, 0, 4) + .5 * sd,
                      make_full_rank(Matrix((.5 * sd).cwiseAbs2().cwiseInverse().asDiagonal())), nullptr};
  Refinement refinement(evaluator, std::move(start), 1, .1);
  for (int k = 0; k < 2000 && refinement.status() == RefinementStatus::kRunning; ++k) refinement.step();
  EXPECT_EQ(refinement.status(), RefinementStatus::kConverged);
  for (Index i = 0; i < 5; ++i) {
    EXPECT_NEAR(refinement.posterior().mean()(i), static_cast<double>(i), .1 * sd(i));
    EXPECT_NEAR(refinement.posterior().sd()(i), sd(i), .1 * sd(i));
  }
}

TEST(Refinement, GoesBackToItsBestIterateWithMorePairs) {
  const auto model = targets::chain(5);
  Evaluator evaluator(model, 1);
  const Vector sd = (Vector::LinSpaced(5, -3, 3) * std::log(10.)).array().exp();
  const Vector mean = Vector::LinSpaced(5, 0, 4) + 3 * sd;
  const Matrix precision = sd.cwiseAbs2().cwiseInverse().asDiagonal();
  const Gaussian first = Gaussian::dense(mean, sd.asDiagonal());
  Refinement refinement(evaluator, {mean, make_full_rank(precision), nullptr}, 1, .1);
  EXPECT_FALSE(refinement.go_back());  // there is none yet
  for (int k = 0; k < 12; ++k) refinement.step();
  const Index pairs = refinement.pairs();
  EXPECT_TRUE(refinement.go_back());
  EXPECT_EQ(refinement.pairs(), 2 * pairs);
  const auto elbo = [&](const Gaussian& q) { return estimate_elbo(model, q, 400, 1, 1); };
  const ElboEstimate before = elbo(first), after = elbo(refinement.posterior());
  EXPECT_GT(after.elbo - 3 * after.se, before.elbo + 3 * before.se);
}

// Standard normals with fine ripples, whose gradients are off by 100 sin(1000 theta): all of it is noise, and
// the best Gaussian is the standard normal.
TEST(Refinement, EndsWhereNoBatchIsLargeEnough) {
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta.array() - 100 * (1000 * theta.array()).sin();
    return -.5 * theta.squaredNorm() + .1 * (1000 * theta.array()).cos().sum();
  });
  Evaluator evaluator(model, 1);
  Refinement refinement(evaluator, {Vector::Zero(2), make_full_rank(Matrix::Identity(2, 2)), nullptr}, 1, .1);
  for (int k = 0; k < 1000 && refinement.status() == RefinementStatus::kRunning; ++k) refinement.step();
  EXPECT_EQ(refinement.status(), RefinementStatus::kExhausted);
  EXPECT_NE(refinement.stop_detail().find("more than there can be"), std::string::npos);
  // Noise costs about one and a half times the tolerance at most: .15 nats, times a fifth of a chi-squared
  // variable, as there are five parameters, which is above 4.1 once in a thousand times.
  const Gaussian found = refinement.posterior();
  EXPECT_LT(kl_divergence(found, Gaussian::dense(Vector::Zero(2), Matrix::Identity(2, 2))), .62);
}

// Converged is noise below .2 of the tolerance, out of reach are 1.5 times the most pairs, and 1.5 times the
// tolerance is good enough.
TEST(Refinement, TakesNoMorePairsThanAreOfUse) {
  // 100 pairs leave 10 tolerances, so that 5,000 are needed: within reach.
  EXPECT_EQ(useful_pairs(100, 10, 4096), 4096);
  // 200 pairs leave 10: 10,000 are out of reach, and 1,333 leave 1.5 tolerances.
  EXPECT_EQ(useful_pairs(200, 10, 4096), 2048);
  // The same with 4,000, which leave .5: a batch is not made smaller.
  EXPECT_EQ(useful_pairs(4000, .5, 4096), 4000);
  // Nothing is good enough.
  EXPECT_EQ(useful_pairs(4000, 10, 4096), 4096);
}

// An epoch has three windows. A posterior that is the start's Gaussian has no noise at all; an average that
// is elsewhere, or has the noise of fine ripples, which change no expectation, takes another epoch.
TEST(Refinement, EndsWithTheFirstEpochWhereItConfirmsTheStart) {
  const auto iterations = [](double ripple, double first_sd) {
    const auto model = make_model(2, [ripple](ConstVectorRef theta, VectorRef gradient) {
      gradient = -theta.array() - ripple * (20 * theta.array()).sin();
      return -.5 * theta.squaredNorm() + ripple / 20 * (20 * theta.array()).cos().sum();
    });
    Evaluator evaluator(model, 1);
    Refinement refinement(
        evaluator, {Vector::Zero(2), make_full_rank(first_sd * Matrix::Identity(2, 2)), nullptr}, 1, .1);
    while (refinement.status() == RefinementStatus::kRunning) refinement.step();
    EXPECT_EQ(refinement.status(), RefinementStatus::kConverged);
    return refinement.iterations();
  };
  EXPECT_EQ(iterations(0, 1), 3 * kWindow);
  EXPECT_GE(iterations(0, 1.6), 6 * kWindow);
  EXPECT_GE(iterations(.8, 1), 6 * kWindow);
}

// The averages of 16 iterations have a sixteenth of a step's noise.
TEST(Refinement, EndsShortOfItsPromiseWhereNoBatchIsLargeEnough) {
  // 6,400 pairs are needed, of which 6,144 are within reach; noise costs 1.25 tolerances.
  const Outlook outlook{16 * .1 * .2 * 6400, 1024, 4096, .1, .1};
  EXPECT_NEAR(needed_pairs(outlook), 6400, 1e-6);
  EXPECT_NEAR(cost_of_noise(outlook), .125, 1e-6);
  EXPECT_TRUE(ends_short_of_promise(outlook));
  const auto with = [&](auto change) {
    Outlook other = outlook;
    change(other);
    return ends_short_of_promise(other);
  };
  EXPECT_FALSE(with([](Outlook& other) { other.noise_of_pair *= .95; }));  // within reach
  EXPECT_FALSE(with([](Outlook& other) { other.pairs = 512; }));           // noise costs 2.5 tolerances
  EXPECT_FALSE(with([](Outlook& other) { other.signal = .25; }));          // there is more to gain
}

// As a fit comes near, noise falls from thousands of nats a step to a few.
TEST(Refinement, JudgesNoiseWhereItIsAndNotWhereItWas) {
  PairNoise noise;
  EXPECT_FALSE(noise.known(1));
  noise.observe(512, 30, 3.9, 2);
  noise.observe(512, 2600, 4, 2);  // on the way: a step gains twice the tolerance
  EXPECT_FALSE(noise.known(1));
  noise.observe(512, 20, 3.9, 2);
  noise.observe(512, 16, 1, 2);
  EXPECT_FALSE(noise.known(512));
  noise.observe(512, 12, -1, 2);
  EXPECT_TRUE(noise.known(512));
  EXPECT_FALSE(noise.known(1024));
  EXPECT_NEAR(noise.mean(), 512 * 16, 1e-9);
  noise.observe(1536, 6, 0, 2);  // as many pairs as all before
  EXPECT_TRUE(noise.known(1024));
  EXPECT_NEAR(noise.mean(), .5 * (512 * 16 + 1536 * 6), 1e-9);
}

}  // namespace
}  // namespace magva
