// Linear response of fits with draws: against the plain system, exact responses, quadrature and Gaussians.
#include "response/sampled_response.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>

#include "magva/fit.hpp"
#include "response/corrected_fit.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

/// A log density whose third and fourth derivatives are not 0: -theta' A theta / 2 - sum exp(b_k' theta) / 4.
struct CurvedDensity {
  Matrix a = Matrix{{2, .5, 0}, {.5, 1, .3}, {0, .3, 1.5}};
  Matrix b = .25 * test::normals(3, 5, 17);

  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const Vector rate = (b.transpose() * theta).array().exp() / 4;
    gradient = -a * theta - b * rate;
    return -.5 * theta.dot(a * theta) - rate.sum();
  }
  Matrix hessian(const Vector& theta) const {
    const Vector rate = (b.transpose() * theta).array().exp() / 4;
    return -a - b * rate.asDiagonal() * b.transpose();
  }
};

Matrix lower_root(const Matrix& covariance) { return covariance.llt().matrixL(); }

TEST(HessianSample, HasTheHessiansAtItsDraws) {
  const CurvedDensity density;
  const auto model = make_model(3, density);
  Evaluator evaluator(model, 1);
  const RootedGaussian at{Vector{{.1, -.2, .3}}, lower_root(density.a.inverse())};
  const auto sample = sample_hessians(evaluator, at, 12, 5);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(evaluator.evaluations(), sample_cost(3, 12));
  EXPECT_LT((sample->noise * sample->noise.transpose() / 12 - Matrix::Identity(3, 3)).norm(), 1e-12);
  for (Index s = 0; s < 12; ++s) {
    const auto excess = [&](double sign) -> Matrix {
      const Matrix hessian = density.hessian(at.mean + sign * at.root * sample->noise.col(s));
      return Matrix::Identity(3, 3) + at.root.transpose() * hessian * at.root;
    };
    const auto k = static_cast<std::size_t>(s);
    const Matrix above = sample->even[k] + sample->mean + sample->odd[k];
    const Matrix below = sample->even[k] + sample->mean - sample->odd[k];
    EXPECT_LT((above - excess(1)).norm(), 1e-3);  // of steps of 1e-3 sds
    EXPECT_LT((below - excess(-1)).norm(), 1e-3);
  }
}

/// (u, S) as one vector, S by its lower triangle.
Matrix unpack(const Vector& x, Index m) {
  Matrix s(m, m);
  Index k = m;
  for (Index j = 0; j < m; ++j)
    for (Index i = j; i < m; ++i) s(i, j) = s(j, i) = x(k++);
  return s;
}

/// Minus the ELBO's second derivative in the direction x, from all draws one by one.
double second_derivative(const HessianSample& sample, const Vector& x) {
  const Index m = sample.dimension();
  const Vector u = x.head(m);
  const Matrix s = unpack(x, m);
  double value = u.squaredNorm() - u.dot(sample.mean * u) + .5 * s.squaredNorm();
  for (Index k = 0; k < sample.pairs(); ++k)
    for (const double sign : {1., -1.}) {
      const auto pair = static_cast<std::size_t>(k);
      const Vector w = u + .5 * sign * s * sample.noise.col(k);
      const Matrix d = sample.even[pair] + sign * sample.odd[pair];
      value -= w.dot(d * w) / (2 * static_cast<double>(sample.pairs()));
    }
  return value;
}

TEST(SampledResponse, SolvesTheSystemOfMeanAndCovariance) {
  const auto model = make_model(3, CurvedDensity());
  Evaluator evaluator(model, 1);
  const RootedGaussian at{Vector{{-.1, -.1, -.1}}, lower_root(CurvedDensity().a.inverse())};
  const auto sample = sample_hessians(evaluator, at, 20, 5);
  ASSERT_TRUE(sample.has_value());
  const auto response = linear_response(*sample);
  ASSERT_TRUE(response.has_value());
  const Index size = 3 + 6;
  Matrix system(size, size);
  for (Index i = 0; i < size; ++i)
    for (Index j = 0; j < size; ++j)
      system(i, j) = .25 * (second_derivative(*sample, Vector::Unit(size, i) + Vector::Unit(size, j)) -
                            second_derivative(*sample, Vector::Unit(size, i) - Vector::Unit(size, j)));
  const Matrix plain = system.inverse().topLeftCorner(3, 3);
  EXPECT_GT((plain - Matrix::Identity(3, 3)).norm(), .01);
  EXPECT_LT((response->covariance - plain).norm(), 1e-6 * plain.norm());
}

Matrix correlated_covariance(Index m) {
  const Matrix a = test::normals(m, m, 8);
  return a * a.transpose() / static_cast<double>(m) + .1 * Matrix::Identity(m, m);
}

TEST(SampledResponse, IsExactForGaussiansOfAnyRank) {
  const Index m = 6;
  const Matrix covariance = correlated_covariance(m);
  const Matrix precision = covariance.inverse();
  const auto model = make_model(m, [precision](ConstVectorRef theta, VectorRef gradient) {
    gradient = -precision * theta;
    return .5 * theta.dot(gradient);
  });
  Evaluator evaluator(model, 1);
  const Vector conditional_sd = precision.diagonal().cwiseSqrt().cwiseInverse();
  for (const Index rank : {0, 2})
    if (const auto found = correct_by_response(
            evaluator,
            Gaussian::low_rank(Vector::Constant(m, .1), .1 * test::normals(m, rank, 4), conditional_sd),
            1'000'000, 1)) {
      EXPECT_LT(found->corrected.mean().norm(), 1e-7);
      EXPECT_LT((found->corrected.sd() - covariance.diagonal().cwiseSqrt()).norm(), 1e-6);
      EXPECT_LT(found->se, 1e-6);
      EXPECT_TRUE(no_further(evaluator, Gaussian::low_rank(Vector::Zero(m), Matrix(m, 0), conditional_sd),
                             found->corrected, 1));
    } else {
      ADD_FAILURE() << "rank " << rank;
    }
}

// Both are at the same optimum, to what the fit with draws promises; its standard errors are below .003.
TEST(SampledResponse, AgreesWithExactExpectations) {
  const RowMatrix x = test::design(40, 6, 3);
  for (const test::Kind kind : {test::Kind::logistic, test::Kind::poisson}) {
    const Regression model =
        test::regression(kind, Design::own(x), test::responses(kind, x, 4), PriorOptions());
    const Vector exact = fit(model).posterior.corrected().sd();
    FitOptions options;
    options.expectations = Expectations::kDraws;
    const FitResult found = fit(model, options);
    ASSERT_TRUE(found.posterior.has_correction());
    const Vector error = found.posterior.corrected().sd().cwiseQuotient(exact).array().log();
    const Vector before = found.posterior.sd().cwiseQuotient(exact).array().log();
    EXPECT_LT(error.cwiseAbs().maxCoeff(), .012);
    EXPECT_GT(before.cwiseAbs().maxCoeff(), .015);
  }
}

/// x = log of a gamma variable of this shape, y | x ~ N(x, 1).
struct LogGamma {
  double shape;
  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const double rest = theta(1) - theta(0);
    gradient(0) = shape - std::exp(theta(0)) + rest;
    gradient(1) = -rest;
    return shape * theta(0) - std::exp(theta(0)) - .5 * rest * rest;
  }
  /// By the trapezoid rule.
  Vector sd() const {
    double mass = 0, first = 0, second = 0;
    for (double u = -40; u < 8; u += .01) {
      const double weight = std::exp(shape * u - std::exp(u));
      mass += weight;
      first += weight * u;
      second += weight * u * u;
    }
    const double variance = second / mass - first * first / (mass * mass);
    return Vector{{std::sqrt(variance), std::sqrt(variance + 1)}};
  }
};

TEST(SampledResponse, HasTheSdsOfASkewedPosterior) {
  const LogGamma density{2};
  const FitResult found = fit(make_model(2, density));
  ASSERT_TRUE(found.posterior.has_correction());
  const Vector truth = density.sd();
  const double before = found.posterior.sd().cwiseQuotient(truth).array().log().abs().maxCoeff();
  const double after = found.posterior.corrected().sd().cwiseQuotient(truth).array().log().abs().maxCoeff();
  EXPECT_GT(before, .08);
  EXPECT_LT(after, .4 * before);
  // The ELBO is that of the fitted Gaussian.
  const ElboEstimate own = estimate_elbo(make_model(2, density), found.posterior, 4000, 9);
  EXPECT_NEAR(found.elbo, own.elbo, 4 * std::hypot(found.elbo_se, own.se));
}

TEST(SampledResponse, TakesAsManyPairsAsItNeeds) {
  constexpr std::int64_t most = 100'000;
  const auto gaussian = make_model(3, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  });
  Evaluator few(gaussian, 1);
  const Gaussian standard = Gaussian::dense(Vector::Zero(3), Matrix::Identity(3, 3));
  ASSERT_TRUE(correct_by_response(few, standard, most, 1).has_value());
  EXPECT_EQ(few.evaluations(), sample_cost(3, 16));

  const LogGamma density{2};
  const auto skewed = make_model(2, density);
  Evaluator many(skewed, 1);
  const auto found = correct_by_response(many, fit(skewed).posterior, most, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_GT(many.evaluations(), 2 * sample_cost(2, 32));
  EXPECT_LT(found->se, .01);  // twice what is asked for: the number of pairs comes from a noisy estimate
}

TEST(SampledResponse, TakesNoSecondSampleThatIsTooSmall) {
  // The Hessian at a draw is off by 2.2 cos(6 theta), so that log sds by 16 pairs have standard errors
  // of .2: 34 pairs do not bring them down to .05, which a correction may have, nor to twice as much.
  const auto rippled = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta.array() - 2.2 / 6 * (6 * theta.array()).sin();
    return -.5 * theta.squaredNorm() + 2.2 / 36 * (6 * theta.array()).cos().sum();
  });
  Evaluator evaluator(rippled, 1);
  const Gaussian q = Gaussian::dense(Vector::Zero(2), Matrix::Identity(2, 2));
  EXPECT_FALSE(correct_by_response(evaluator, q, sample_cost(2, 34), 2).has_value());
  EXPECT_EQ(evaluator.evaluations(), sample_cost(2, 16));
}

TEST(SampledResponse, IsLeftOutWhereGradientsAreTooFew) {
  const auto model = make_model(3, CurvedDensity());
  Evaluator evaluator(model, 1);
  const Gaussian q = Gaussian::dense(Vector::Zero(3), Matrix::Identity(3, 3));
  EXPECT_FALSE(correct_by_response(evaluator, q, 100, 1).has_value());
  EXPECT_EQ(evaluator.evaluations(), 0);
}

TEST(SampledResponse, IsRefusedWhereItIsFurtherFromThePosterior) {
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  });
  Evaluator evaluator(model, 1);
  const auto wide = [](double sd) { return Gaussian::dense(Vector::Zero(2), sd * Matrix::Identity(2, 2)); };
  EXPECT_TRUE(no_further(evaluator, wide(.9), wide(1), 1));
  EXPECT_FALSE(no_further(evaluator, wide(1), wide(1.5), 1));
}

}  // namespace
}  // namespace magva
