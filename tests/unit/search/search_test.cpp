// The stages before the refinement, each alone: mode search, curvature, choice of the rank.
#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>
#include <limits>

#include "search/candidates.hpp"
#include "search/curvature.hpp"
#include "search/path_gaussians.hpp"
#include "search/rank_choice.hpp"
#include "statistical/targets.hpp"
#include "support/targets.hpp"

namespace magva {
namespace {

Matrix random_precision(Index m) {
  const Matrix x = test::random_matrix(2 * m, m, 5);
  return x.transpose() * x;
}

/// log N(theta; mean, precision^-1) but for its constant.
auto quadratic(Vector mean, Matrix precision) {
  const Index m = mean.size();
  return make_model(m, [mean = std::move(mean), precision = std::move(precision)](ConstVectorRef theta,
                                                                                  VectorRef gradient) {
    gradient = -precision * (theta - mean);
    return .5 * gradient.dot(theta - mean);
  });
}

/// Rosenbrock's valley upside down: its maximum is 0 at (1, 1).
auto valley() {
  return make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    const double a = 1 - theta(0);
    const double b = theta(1) - theta(0) * theta(0);
    gradient << 2 * a + 400 * theta(0) * b, -200 * b;
    return -a * a - 100 * b * b;
  });
}

PathPoint at(Evaluator& evaluator, const Vector& theta) {
  PathPoint point{theta, Vector(theta.size()), 0};
  point.log_density = evaluator.evaluate(point.theta, point.gradient);
  return point;
}

TEST(ModeSearch, FindsTheEndOfACurvedValley) {
  const auto model = valley();
  Evaluator evaluator(model, 1);
  const ModeSearch search = search_mode(evaluator, Vector{{-1.2, 1}}, 300);
  EXPECT_TRUE(search.converged);
  EXPECT_GT(search.end.log_density, -1e-3);  // it ends when 8 iterations gain less
  EXPECT_EQ(search.path.front().theta, (Vector{{-1.2, 1}}));
}

TEST(ModeSearch, WithTheRightCurvatureItIsOneNewtonStep) {
  const Matrix precision = random_precision(12);
  const Vector mean = test::random_matrix(12, 1, 6);
  const auto model = quadratic(mean, precision);
  Evaluator evaluator(model, 1);
  const ModeSearch search = search_mode(evaluator, Vector::Zero(12), 1, precision);
  EXPECT_LT((search.end.theta - mean).norm(), 1e-9);
}

TEST(ModeSearch, WithTheRightCurvatureItEndsAtTheMode) {
  const Matrix precision = random_precision(12);
  const auto model = quadratic(test::random_matrix(12, 1, 6), precision);
  Evaluator evaluator(model, 1);
  const ModeSearch search = search_mode(evaluator, Vector::Zero(12), 60, precision);
  EXPECT_TRUE(search.converged);
  EXPECT_EQ(evaluator.evaluations(), 2);  // at the start and at the mode
}

// Of exp(-sqrt(1 + theta^2)) far out: there the gradient hardly changes, and a curvature of 1 promises
// little.
TEST(ModeSearch, WithACurvatureThatIsTooLargeItDoesNotEndOnASlope) {
  const auto model = make_model(1, [](ConstVectorRef theta, VectorRef gradient) {
    const double root = std::sqrt(1 + theta(0) * theta(0));
    gradient(0) = -theta(0) / root;
    return -root;
  });
  Evaluator evaluator(model, 1);
  const ModeSearch search = search_mode(evaluator, Vector{{1000}}, 60, Matrix{{1e5}});
  EXPECT_TRUE(search.converged);
  EXPECT_NEAR(search.end.theta(0), 0, .1);
}

TEST(ModeSearch, StoppedItReturnsTheHighestPointSoFar) {
  const auto model = valley();
  const std::vector<Observer> observers;
  Control control({.evaluations = 12}, observers);
  Evaluator evaluator(model, 1, &control);
  const ModeSearch search = search_mode(evaluator, Vector{{-1.2, 1}}, 300);
  EXPECT_TRUE(control.stopped());
  EXPECT_FALSE(search.converged);
  EXPECT_EQ(evaluator.evaluations(), 12);
  EXPECT_GT(search.end.log_density, search.path.front().log_density);
}

// One-sided differences are exact for a quadratic, too, but for rounding: gradients of size |A| |theta| are
// known to 1e-16 and divided by steps of 1e-4 and more.
TEST(DenseCurvature, IsThatOfAQuadraticWhoseScalesDiffer) {
  Matrix precision = random_precision(8);
  const Vector scale = (Vector::LinSpaced(8, -3, 3) * std::log(10.)).array().exp();
  precision = (scale.asDiagonal() * precision * scale.asDiagonal()).eval();
  const auto model = quadratic(Vector::Zero(8), precision);
  Evaluator evaluator(model, 1);
  const auto found = dense_curvature(evaluator, at(evaluator, Vector::Zero(8)));
  ASSERT_TRUE(found);
  const Vector unit = precision.diagonal().cwiseSqrt().cwiseInverse();
  EXPECT_LT((unit.asDiagonal() * (*found - precision) * unit.asDiagonal()).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(DenseCurvature, OfNegativeDirectionsBecomesPositive) {
  Matrix indefinite = Matrix::Identity(3, 3);
  indefinite(1, 1) = -2;
  const Matrix found = positive_part(indefinite);
  EXPECT_EQ(Eigen::LLT<Matrix>(found).info(), Eigen::Success);
  EXPECT_NEAR(found(1, 1), 2, 1e-12);
  const Matrix precision = random_precision(4);
  EXPECT_EQ(positive_part(precision), precision);
}

// Above a size at which eigenvalues would take too long, the diagonal is raised until it suffices.
TEST(DenseCurvature, OfManyParametersBecomesPositive) {
  constexpr Index kSize = 610;
  const Vector direction = test::random_matrix(kSize, 1, 7).col(0).normalized();
  Matrix indefinite = Matrix::Identity(kSize, kSize) - 1.5 * direction * direction.transpose();
  indefinite(3, 3) = -4;
  const Matrix found = positive_part(indefinite);
  EXPECT_EQ(Eigen::LLT<Matrix>(found).info(), Eigen::Success);
  EXPECT_GT(found(3, 3), 4);
  // What was positive is left nearly as it was.
  EXPECT_NEAR(found(10, 10), indefinite(10, 10), 1.1 * indefinite(10, 10));
  EXPECT_NEAR(found(10, 11), indefinite(10, 11), 1e-12);
}

// The covariance I + 999 u u' has one factor, worth (.001 - 1 - log .001)/2 = 3 nats; a rank must gain 2 of
// 400 parameters.
TEST(SketchedCurvature, FindsTheOneFactorOfAPosterior) {
  constexpr Index kSize = 400;
  const Vector u = test::random_matrix(kSize, 1, 7).normalized();
  const Matrix covariance = Matrix::Identity(kSize, kSize) + 999 * u * u.transpose();
  const Matrix precision = covariance.llt().solve(Matrix::Identity(kSize, kSize));
  const auto model = quadratic(Vector::Zero(kSize), precision);
  Evaluator evaluator(model, 1);
  const CurvatureSketch sketch = sketch_curvature(evaluator, at(evaluator, Vector::Zero(kSize)), 4, 1);
  EXPECT_LT((sketch.diagonal - precision.diagonal()).cwiseAbs().maxCoeff(), .05);
  EXPECT_NEAR(sketch.values(0), .001, .0005);
  EXPECT_GT(std::abs(sketch.directions.col(0).normalized().dot(u)), .99);
  EXPECT_GT(sketch.values(1), .8);
  EXPECT_EQ(choose_rank(sketch).rank, 1);
}

// A parameter that hardly matters has an sd of thousands, and so far away the log density overflows.
TEST(CurvatureSketch, MovesNoParameterFarBeyondItsSize) {
  const auto model = make_model(20, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    gradient(0) = -1e-9 * theta(0) - std::exp(theta(0) - 100);
    return -.5 * theta.tail(19).squaredNorm() - .5e-9 * theta(0) * theta(0) - std::exp(theta(0) - 100);
  });
  Evaluator evaluator(model, 1);
  const CurvatureSketch sketch = sketch_curvature(evaluator, at(evaluator, Vector::Zero(20)), 2, 1);
  EXPECT_TRUE(sketch.diagonal.allFinite() && sketch.values.allFinite() && sketch.directions.allFinite());
  EXPECT_LT((sketch.diagonal.tail(19).array() - 1).abs().maxCoeff(), 1e-6);
}

TEST(RankChoice, TakesAsManyFactorsAsPay) {
  constexpr Index kSize = 200;
  constexpr Index kFactors = 4;
  const Matrix w = 2 * test::random_matrix(kSize, kFactors, 8);
  const Matrix covariance = Matrix::Identity(kSize, kSize) + w * w.transpose();
  const QuadraticFitter fitter(covariance.llt().solve(Matrix::Identity(kSize, kSize)));
  const RankChoice choice = choose_rank(fitter, kSize);
  EXPECT_EQ(choice.rank, kFactors);
  // A run that gains less than 1e-3 nats ends the search for each rank.
  for (std::size_t i = 1; i < choice.path.size(); ++i)
    EXPECT_GE(choice.path[i].gain, choice.path[i - 1].gain - 1e-3);
  EXPECT_EQ(choose_rank(fitter, kFullRankDimension).rank, kFullRankDimension);
}

// L-BFGS's inverse Hessian as a matrix: what its draws, its determinant and its products say.
TEST(SecantCovariance, IsOneMatrixAndKnowsItsLastDifference) {
  constexpr Index m = 12;
  const Matrix precision = random_precision(m);
  SecantCovariance covariance(m);
  PathPoint last, before;
  for (std::uint64_t k = 0; k < 14; ++k) {  // more than it remembers
    before = last;
    last.theta = test::random_matrix(m, 1, 20 + k).col(0);
    last.gradient = -precision * last.theta;
    if (k > 0) covariance.add(before, last);
  }
  const Matrix root = covariance.draws(Matrix::Identity(covariance.noise_size(), covariance.noise_size()));
  const Matrix sigma = root * root.transpose();
  EXPECT_NEAR(covariance.log_determinant(), std::log(sigma.determinant()), 1e-8);
  const Vector v = test::random_matrix(m, 1, 50).col(0);
  EXPECT_LT((covariance.times(v) - sigma * v).norm(), 1e-10 * (sigma * v).norm());
  const Vector step = last.theta - before.theta;
  EXPECT_LT((sigma * (before.gradient - last.gradient) - step).norm(), 1e-10 * step.norm());
}

/// Effects with an unknown sd, its logarithm last: the log density has a maximum where they all vanish, at
/// -13, and nearly all mass elsewhere.
auto spiked_hierarchy(Index groups) {
  return make_model(groups + 1, [groups, y = Vector(test::random_matrix(groups, 1, 60))](ConstVectorRef theta,
                                                                                         VectorRef gradient) {
    const auto n = static_cast<double>(groups);
    const Vector effect = theta.head(groups);
    const double log_sd = theta(groups);
    const double precision = std::exp(-2 * log_sd);
    const Vector left = 3 * y - effect;
    gradient.head(groups) = left - precision * effect;
    gradient(groups) = precision * effect.squaredNorm() - n - 5 * (log_sd + 1);
    return -.5 * left.squaredNorm() - .5 * precision * effect.squaredNorm() - n * log_sd -
           2.5 * (log_sd + 1) * (log_sd + 1);
  });
}

TEST(Candidates, ASpikeIsNotTheOnlyOne) {
  constexpr Index groups = 60;
  const auto model = spiked_hierarchy(groups);
  Evaluator evaluator(model, 1);
  SearchState state;
  state.points = {Vector::Zero(groups + 1)};
  const SearchResult found = find_candidates(evaluator, state, 1);
  ASSERT_EQ(found.candidates.size(), 2U);
  EXPECT_TRUE(found.candidates[0].is_mode);
  EXPECT_NEAR(found.candidates[0].centre.theta(groups), -13, .1);
  EXPECT_FALSE(found.candidates[1].is_mode);
  EXPECT_GT(found.candidates[1].centre.theta(groups), -5);
}

// What a mean-field Gaussian has found is tried beside the spike, in place of what is on the way to it, if it
// is better; and not where it is near the mode.
TEST(Candidates, AKnownPlaceWithMassIsOne) {
  constexpr Index groups = 60;
  const auto model = spiked_hierarchy(groups);
  Evaluator evaluator(model, 1);
  Vector place = Vector::Zero(groups + 1);
  const Vector sd = Vector::Constant(groups + 1, .2);
  for (const double log_sd : {0., -13.}) {
    place(groups) = log_sd;
    PathPoint point{place, Vector(groups + 1), 0};
    point.log_density = evaluator.evaluate(place, point.gradient);
    SearchState state;
    state.points = {Vector::Zero(groups + 1)};
    state.on_path = PathPlace{{point, place, 1e3, sd}, -std::numeric_limits<double>::infinity(), 0};
    const SearchResult found = find_candidates(evaluator, state, 1);
    ASSERT_EQ(found.candidates.size(), log_sd == 0 ? 2U : 1U);
    EXPECT_TRUE(found.candidates[0].is_mode);
    if (log_sd < 0) continue;
    EXPECT_TRUE(found.candidates[1].has_mass);
    EXPECT_EQ(found.candidates[1].centre.theta, place);
    ASSERT_TRUE(found.candidates[1].sd.has_value());
    EXPECT_EQ(*found.candidates[1].sd, sd);
  }
}

TEST(Candidates, OfAGaussianThereIsOne) {
  const auto model = quadratic(Vector{{1, 2, 3}}, random_precision(3));
  Evaluator evaluator(model, 1);
  SearchState state;
  state.points = {Vector{{9, -9, 9}}, Vector{{-3, 3, 0}}};
  const SearchResult found = find_candidates(evaluator, state, 1);
  ASSERT_EQ(found.candidates.size(), 1U);
  EXPECT_TRUE(found.candidates.front().is_mode);
}

TEST(Candidates, TwoModesAreFoundOnceEach) {
  const auto model = targets::two_modes(2, 3);
  Evaluator evaluator(model, 1);
  SearchState state;
  state.points = {Vector{{3, 3}}, Vector{{2.5, 3.5}}, Vector{{-3, -3}}, Vector{{-2, -3}}};
  const SearchResult found = find_candidates(evaluator, state, 1);
  EXPECT_EQ(found.reports.size(), 4U);
  Index modes = 0;
  for (const Candidate& candidate : found.candidates) modes += candidate.is_mode ? 1 : 0;
  EXPECT_EQ(modes, 2);
}

}  // namespace
}  // namespace magva
