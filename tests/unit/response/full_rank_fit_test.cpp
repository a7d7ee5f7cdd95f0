// Newton steps with one set of draws: against best Gaussians in closed form, and where they must give up.
#include "response/full_rank_fit.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <cmath>

#include "magva/fit.hpp"
#include "response/full_rank_steps.hpp"
#include "unit/exact/problems.hpp"

namespace magva {
namespace {

/// sum (b_k' theta - exp(b_k' theta)) - |theta|^2 / 2, whose ELBO under a Gaussian has a closed form.
struct CountDensity {
  Matrix b;

  double operator()(ConstVectorRef theta, VectorRef gradient) const {
    const Vector eta = b.transpose() * theta;
    const Vector rate = eta.array().exp();
    gradient = b * (Vector::Ones(eta.size()) - rate) - theta;
    return (eta - rate).sum() - .5 * theta.squaredNorm();
  }
  Vector rates(const Vector& mean, const Matrix& covariance) const {
    return (b.transpose() * mean + .5 * (b.transpose() * covariance * b).diagonal()).array().exp();
  }
  Matrix precision(const Vector& rate) const {
    return Matrix::Identity(b.rows(), b.rows()) + b * rate.asDiagonal() * b.transpose();
  }
  /// But for a constant.
  double elbo(const RootedGaussian& q) const {
    const Matrix covariance = q.root * q.root.transpose();
    return (b.transpose() * q.mean).sum() - rates(q.mean, covariance).sum() -
           .5 * (q.mean.squaredNorm() + covariance.trace()) + q.root.diagonal().array().log().sum();
  }
  RootedGaussian best() const {
    Vector mean = Vector::Zero(b.rows());
    Matrix covariance = precision(Vector::Ones(b.cols())).inverse();
    for (int k = 0; k < 400; ++k) {
      const Vector rate = rates(mean, covariance);
      covariance = .5 * (covariance + Matrix(precision(rate).inverse()));
      mean += .5 * covariance * (b * (Vector::Ones(b.cols()) - rate) - mean);
    }
    return {mean, covariance.llt().matrixL()};
  }
};

RootedGaussian standard(Index m) { return {Vector::Zero(m), Matrix::Identity(m, m)}; }

TEST(NewtonFit, ComesAsNearAsPromised) {
  constexpr Index m = 30;
  constexpr double kTolerance = .1;
  const CountDensity density{.35 * test::normals(m, 60, 3)};
  const double best = density.elbo(density.best());
  const auto model = make_model(m, density);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Evaluator evaluator(model, 1);
    const auto found = fit_by_newton_steps(evaluator, standard(m), kTolerance, seed);
    ASSERT_TRUE(found.has_value());
    const double gap = best - density.elbo(found->at);
    EXPECT_GE(gap, 0);
    EXPECT_LT(gap, kTolerance);
    // What it says of itself is an estimate of that gap.
    EXPECT_LT(found->left + found->noise_nats, kTolerance);
    EXPECT_LT(gap, 2 * (found->left + found->noise_nats));
  }
}

TEST(NewtonFit, IsExactForAGaussian) {
  constexpr Index m = 12;
  const Matrix a = Matrix::Identity(m, m) + .3 * test::normals(m, m, 5) * test::normals(m, m, 5).transpose();
  const auto model = make_model(m, [&](ConstVectorRef theta, VectorRef gradient) {
    gradient = Vector::Ones(m) - a * theta;
    return theta.sum() - .5 * theta.dot(a * theta);
  });
  Evaluator evaluator(model, 1);
  const auto found = fit_by_newton_steps(evaluator, standard(m), .1, 1);
  ASSERT_TRUE(found.has_value());
  EXPECT_LT((found->at.mean - a.inverse() * Vector::Ones(m)).norm(), 1e-6);
  EXPECT_LT((found->at.root * found->at.root.transpose() - a.inverse()).norm(), 1e-6);
  EXPECT_LT(found->noise_nats, 1e-9);
}

/// The log sd of 20 effects that no data tell: the best Gaussian is far up the funnel, and steps from its
/// neck gain a little each.
TEST(NewtonFit, DoesNotConvergeInTheNeckOfAFunnel) {
  constexpr Index m = 21;
  const auto model = make_model(m, [](ConstVectorRef theta, VectorRef gradient) {
    const double log_sd = theta(0);
    const auto effects = theta.tail(m - 1);
    const double squares = effects.squaredNorm() * std::exp(-2 * log_sd);
    gradient(0) = -log_sd / 9 - (m - 1) + squares;
    gradient.tail(m - 1) = -effects * std::exp(-2 * log_sd);
    return -log_sd * log_sd / 18 - (m - 1) * log_sd - .5 * squares;
  });
  Evaluator evaluator(model, 1);
  RootedGaussian neck = standard(m);
  neck.mean(0) = -6;
  neck.root(0, 0) = .1;
  neck.root.diagonal().tail(m - 1).setConstant(std::exp(-6.));
  const auto found = fit_by_newton_steps(evaluator, neck, .1, 1);
  EXPECT_TRUE(!found || found->at.mean(0) > -2);
}

TEST(NewtonFit, GivesUpWhereADrawHasNoDensity) {
  const auto model = make_model(2, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return theta(0) > 1 ? std::nan("") : -.5 * theta.squaredNorm();
  });
  Evaluator evaluator(model, 1);
  EXPECT_FALSE(fit_by_newton_steps(evaluator, standard(2), .1, 1).has_value());
}

}  // namespace
}  // namespace magva
