// Linear response from gradients at pairs of draws: against closed forms, refits under tilts, the whole
// response from Hessians, exact expectations and Gaussians.
#include "response/paired_response.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>

#include "magva/fit.hpp"
#include "response/corrected_fit.hpp"
#include "response/full_rank_steps.hpp"
#include "response/response_probe.hpp"
#include "response/sampled_response.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

/// sum (b_k' theta - exp(b_k' theta)) - theta' A theta / 2, whose expectations under a Gaussian have closed
/// forms.
struct ExponentialDensity {
  Matrix a = Matrix{{.6, .15, 0}, {.15, .3, .1}, {0, .1, .5}};
  Matrix b = .7 * test::normals(3, 4, 17);

  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const Vector eta = b.transpose() * theta;
    const Vector rate = eta.array().exp();
    gradient = b * (Vector::Ones(4) - rate) - a * theta;
    return (eta - rate).sum() - .5 * theta.dot(a * theta);
  }
  /// E exp(b_k' theta).
  Vector rates(const Vector& mean, const Matrix& covariance) const {
    const Vector spread = (b.transpose() * covariance * b).diagonal();
    return (b.transpose() * mean + .5 * spread).array().exp();
  }
  Matrix precision(const Vector& rate) const { return a + b * rate.asDiagonal() * b.transpose(); }

  /// The best Gaussian under a tilt, by a fixed point.
  RootedGaussian best(const Vector& tilt) const {
    Vector mean = Vector::Zero(3);
    Matrix covariance = precision(Vector::Ones(4)).inverse();
    for (int k = 0; k < 400; ++k) {
      const Vector rate = rates(mean, covariance);
      covariance = .5 * (covariance + Matrix(precision(rate).inverse()));
      mean += .5 * covariance * (tilt - a * mean + b * (Vector::Ones(4) - rate));
    }
    return {mean, covariance.llt().matrixL()};
  }
  /// The derivative of the best mean by the tilt.
  Matrix response() const {
    constexpr double kTilt = 1e-4;
    Matrix out(3, 3);
    for (Index i = 0; i < 3; ++i)
      out.col(i) =
          (best(kTilt * Vector::Unit(3, i)).mean - best(-kTilt * Vector::Unit(3, i)).mean) / (2 * kTilt);
    return out;
  }
};

Vector log_ratio(const Vector& a, const Vector& b) { return a.cwiseQuotient(b).array().log(); }

TEST(GradientSample, HasTheExpectedHessianAndThirdDerivatives) {
  const ExponentialDensity density;
  const auto model = make_model(3, density);
  Evaluator evaluator(model, 1);
  const RootedGaussian at{Vector{{.1, -.2, .1}},
                          Matrix(density.precision(Vector::Ones(4)).inverse().llt().matrixL())};
  constexpr Index kPairs = 40'000;
  const auto sample = sample_gradients(evaluator, at, kPairs, 5);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(evaluator.evaluations(), 2 * kPairs);
  const Matrix covariance = at.root * at.root.transpose();
  const Vector rate = density.rates(at.mean, covariance);
  const Matrix excess = Matrix::Identity(3, 3) - at.root.transpose() * density.precision(rate) * at.root;
  EXPECT_GT(excess.norm(), .1);
  EXPECT_LT((sample->excess - excess).norm(), .01);
  // Third derivatives -sum rate c c c with c = root' b, so that G is half of (c' c)^2 between them.
  const Matrix c = at.root.transpose() * density.b;
  const Matrix squares = (c.transpose() * c).array().square();
  const Matrix taken = .5 * c * rate.asDiagonal() * squares * rate.asDiagonal() * c.transpose();
  const Matrix found = sample->even * sample->even.transpose() / (kPairs - 1);
  const LargestTaken largest = largest_taken(*sample);
  const auto probe = probe_response(evaluator, at, excess, largest.direction, 3);
  ASSERT_TRUE(probe.has_value());
  EXPECT_NEAR(probe->leading / largest.direction.dot(taken * largest.direction), 1, .05);
  // The fifth derivatives add a little.
  const double share = probe->leading / (probe->leading + probe->higher);
  EXPECT_LT((share * found - taken).norm(), .1 * taken.norm());
}

TEST(PairedResponse, IsThatOfRefitsUnderTilts) {
  const ExponentialDensity density;
  const auto model = make_model(3, density);
  Evaluator evaluator(model, 1);
  const RootedGaussian at = density.best(Vector::Zero(3));
  const auto sample = sample_gradients(evaluator, at, 40'000, 5);
  ASSERT_TRUE(sample.has_value());
  const LargestTaken largest = largest_taken(*sample);
  const auto taken = probe_response(evaluator, at, sample->shrunk_excess(), largest.direction, 3);
  ASSERT_TRUE(taken.has_value());
  const auto response = paired_response(*sample, *taken);
  ASSERT_TRUE(response.has_value());
  const Vector wanted = density.response().diagonal();
  const Vector before = (at.root * at.root.transpose()).diagonal();
  const Vector found = (at.root * response->covariance * at.root.transpose()).diagonal();
  const Vector change = .5 * (wanted.cwiseQuotient(before)).array().log();
  EXPECT_GT(change.maxCoeff(), .02);
  for (Index i = 0; i < 3; ++i) {
    const double se = .5 * response_se(*sample, *response, at.root.row(i)) / found(i);
    EXPECT_NEAR(.5 * std::log(found(i) / wanted(i)), 0, 4 * se + .1 * change(i)) << i;
  }
}

TEST(ResponseProbe, IsTheWholeResponseAlongADirection) {
  const ExponentialDensity density;
  const auto model = make_model(3, density);
  Evaluator evaluator(model, 1);
  const RootedGaussian at = density.best(Vector::Zero(3));
  const auto hessians = sample_hessians(evaluator, at, 128, 7);  // as many pairs as a probe has
  ASSERT_TRUE(hessians.has_value());
  const auto response = linear_response(*hessians);
  ASSERT_TRUE(response.has_value());
  const Vector u = Vector{{1, 2, -1}}.normalized();
  const Matrix taken = Matrix::Identity(3, 3) - hessians->mean - response->covariance.inverse();
  const auto probe = probe_response(evaluator, at, hessians->mean, u, 7);
  ASSERT_TRUE(probe.has_value());
  EXPECT_GT(std::abs(probe->whole / probe->leading - 1), .01);
  // But for the noise of the third derivatives, which a probe takes out.
  EXPECT_NEAR(probe->whole / u.dot(taken * u), 1, .02);
}

TEST(PairedResponse, IsExactForGaussiansOfAnyRank) {
  const Index m = 150;
  const Matrix a = test::normals(m, m + 50, 8);
  const Matrix precision = a * a.transpose() / static_cast<double>(m) + .1 * Matrix::Identity(m, m);
  const Matrix covariance = precision.inverse();
  const auto model = make_model(m, [precision](ConstVectorRef theta, VectorRef gradient) {
    gradient = -precision * theta;
    return .5 * theta.dot(gradient);
  });
  Evaluator evaluator(model, 1);
  const Vector conditional_sd = precision.diagonal().cwiseSqrt().cwiseInverse();
  for (const Index rank : {0, 1, 4})
    if (const auto found = correct_by_response(
            evaluator,
            Gaussian::low_rank(Vector::Constant(m, .1), .1 * test::normals(m, rank, 4), conditional_sd), 6000,
            1)) {
      EXPECT_LT(found->corrected.mean().norm(), 1e-6);
      EXPECT_LT((found->corrected.sd() - covariance.diagonal().cwiseSqrt()).norm(), 1e-6);
      EXPECT_LT(found->se, 1e-6);
      EXPECT_GT(found->change, .3);
    } else {
      ADD_FAILURE() << "rank " << rank;
    }
}

/// The sd of the best Gaussian for a Student t distribution: 1 / sd^2 is the expected curvature.
double best_sd_of_t(double nu) {
  double variance = 1;
  for (int k = 0; k < 100; ++k) {
    double mass = 0, curvature = 0;
    for (double z = -10; z <= 10; z += .01) {
      const double weight = std::exp(-.5 * z * z), square = variance * z * z;
      mass += weight;
      curvature += weight * (nu + 1) * (nu - square) / ((nu + square) * (nu + square));
    }
    variance = .5 * (variance + mass / curvature);
  }
  return std::sqrt(variance);
}

constexpr double kNu = 5;

// Independent t variables, mixed: not concave, and symmetric, so that linear response is the best Gaussian.
TEST(PairedResponse, WidensALowRankFitOfANonConcaveDensity) {
  const Index m = 140;
  const Matrix mixing =
      Matrix::Identity(m, m) + .4 * test::normals(m, m, 5) / std::sqrt(static_cast<double>(m));
  const Matrix inverse = mixing.inverse();
  const auto model = make_model(m, [inverse](ConstVectorRef theta, VectorRef gradient) {
    const Vector z = inverse * theta;
    gradient = -inverse.transpose() * ((kNu + 1) * z.array() / (kNu + z.array().square())).matrix();
    return -.5 * (kNu + 1) * (1 + z.array().square() / kNu).log().sum();
  });
  FitOptions options;
  options.rank = 2;
  options.shape = ShapeChoice::kGaussian;
  const FitResult low = fit(model, options);
  ASSERT_TRUE(low.posterior.has_correction());
  const Vector best = best_sd_of_t(kNu) * mixing.rowwise().norm();
  EXPECT_LT(log_ratio(low.posterior.sd(), best).maxCoeff(), -.08);
  EXPECT_LT(log_ratio(low.posterior.corrected().sd(), best).cwiseAbs().maxCoeff(), .05);
  EXPECT_GT(low.sd_se, 0);
  EXPECT_LT(low.sd_se, .05);
}

Regression logistic(Index rows, Index columns) {
  const RowMatrix x = test::design(rows, columns, 3);
  NormalPriorOptions prior;
  prior.variance = 1;
  return test::regression(test::Kind::logistic, Design::own(x), test::responses(test::Kind::logistic, x, 4),
                          prior);
}

TEST(PairedResponse, AgreesWithExactExpectationsOfAFullRankGaussian) {
  const Regression model = logistic(600, 240);
  const Gaussian q = fit(model).posterior;
  ASSERT_TRUE(q.has_correction() && q.is_dense());
  const Vector exact = q.corrected().sd();
  Evaluator evaluator(model, 1);
  const auto found = correct_by_response(evaluator, q.without_correction(), 50 * 240, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT(log_ratio(q.sd(), exact).minCoeff(), -.03);
  EXPECT_LT(log_ratio(found->corrected.sd(), exact).cwiseAbs().maxCoeff(), .02);
  EXPECT_LE(evaluator.evaluations(), 50 * 240);
}

// The fit's own sds are half of what is right; those found are within 3 %, and means within .1 sds.
TEST(PairedResponse, AgreesWithExactExpectationsOfALowRankFitByDraws) {
  const Regression model = logistic(500, 150);
  const FitResult by_expectations = fit(model);
  ASSERT_TRUE(by_expectations.posterior.has_correction());
  const Gaussian& exact = by_expectations.posterior.corrected();
  FitOptions options;
  options.expectations = Expectations::kDraws;
  options.rank = 4;
  const FitResult found = fit(model, options);
  ASSERT_TRUE(found.posterior.has_correction());
  const Gaussian& corrected = found.posterior.corrected();
  const Vector shift = (corrected.mean() - exact.mean()).cwiseQuotient(exact.sd());
  EXPECT_LT(log_ratio(found.posterior.sd(), exact.sd()).minCoeff(), -.15);
  EXPECT_LT(log_ratio(corrected.sd(), exact.sd()).cwiseAbs().maxCoeff(), .03);
  EXPECT_LT(shift.cwiseAbs().maxCoeff(), .1);
  EXPECT_TRUE(found.trusted);
  EXPECT_GT(found.sd_se, 0);
  EXPECT_LT(found.sd_se, .05);
}

// Of 40 seeds. The second moments of the noise being exact, fourth moments vary less than those of
// independent draws, by which errors are stated: these are upper bounds, up to twice as large.
TEST(PairedResponse, HasTheErrorsThatItStates) {
  const Index m = 24;
  const RowMatrix x = test::design(100, m, 3);
  const Regression model = test::regression(test::Kind::logistic, Design::own(x),
                                            test::responses(test::Kind::logistic, x, 4), PriorOptions());
  FitOptions options;
  options.rank = m;
  const Gaussian q = fit(model, options).posterior.without_correction();
  ASSERT_TRUE(q.is_dense());
  const RootedGaussian at{q.mean(), q.factors()};
  Evaluator evaluator(model, 1);
  constexpr int kSeeds = 40;
  Matrix log_sd(m, kSeeds), se(m, kSeeds);
  for (int k = 0; k < kSeeds; ++k) {
    const auto sample = sample_gradients(evaluator, at, step_pairs(m), 100 + static_cast<std::uint64_t>(k));
    ASSERT_TRUE(sample.has_value());
    const auto response = paired_response(*sample, 1, 0);
    ASSERT_TRUE(response.has_value());
    for (Index i = 0; i < m; ++i) {
      const Vector tilt = at.root.row(i);
      const double variance = tilt.dot(response->covariance * tilt);
      log_sd(i, k) = .5 * std::log(variance);
      se(i, k) = .5 * response_se(*sample, *response, tilt) / variance;
    }
  }
  const Matrix deviation = log_sd.colwise() - log_sd.rowwise().mean();
  const double spread = deviation.squaredNorm() / (m * (kSeeds - 1));
  const double stated = se.squaredNorm() / (m * kSeeds);
  EXPECT_LT(spread / stated, 1.2);
  EXPECT_GT(spread / stated, .25);
}

}  // namespace
}  // namespace magva
