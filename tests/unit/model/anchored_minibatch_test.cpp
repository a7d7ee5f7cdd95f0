#include "models/anchored_minibatch.hpp"

#include <cmath>

#include "magva/check_gradient.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

std::shared_ptr<const Regression> logistic_model(Index rows, Index cols) {
  return std::make_shared<const Regression>(
      logistic_regression({Design::own(random_design(rows, cols, 21)), zero_one(rows, 22), {}, {}}));
}

Anchor anchor_at(const Regression& full, const Vector& theta) {
  const Evaluated found = evaluate(full, theta);
  return {theta, found.log_density(0), found.gradient.col(0)};
}

TEST(AnchoredMinibatch, MeanOfAnEpochIsTheFullModel) {
  const auto full = logistic_model(101, 6);
  const Minibatch minibatch(full, {10, 1, 3});
  const Matrix theta = normal_matrix(6, 3, 4, .5);
  const AnchoredMinibatch model(minibatch, anchor_at(*full, normal_matrix(6, 1, 5, .5)));
  Vector log_density = Vector::Zero(3);
  Matrix gradient = Matrix::Zero(6, 3);
  const auto batches = static_cast<std::uint64_t>(minibatch.batches());
  for (std::uint64_t t = 2 * batches; t < 3 * batches; ++t) {
    const Evaluated found = evaluate(model, theta, 1, t);
    log_density += found.log_density / static_cast<double>(batches);
    gradient += found.gradient / static_cast<double>(batches);
  }
  const Evaluated expected = evaluate(*full, theta);
  EXPECT_LT((log_density - expected.log_density).cwiseAbs().maxCoeff(), 1e-10);
  EXPECT_LT((gradient - expected.gradient).cwiseAbs().maxCoeff(), 1e-10);
}

TEST(AnchoredMinibatch, IsExactAtTheAnchorAndNearlySoBesideIt) {
  const auto full = logistic_model(400, 5);
  const Minibatch minibatch(full, {40, 1, 3});
  const Vector centre = normal_matrix(5, 1, 6, .5);
  const AnchoredMinibatch model(minibatch, anchor_at(*full, centre));
  const Evaluated at = evaluate(model, centre, 1, 7);
  const Evaluated expected = evaluate(*full, centre);
  EXPECT_NEAR(at.log_density(0), expected.log_density(0), 1e-9);
  EXPECT_LT((at.gradient - expected.gradient).cwiseAbs().maxCoeff(), 1e-9);
  // The gradient's error is of first order in the distance, the plain minibatch's does not vanish.
  const auto error = [&](const Model& estimate, double distance) {
    const Vector theta = centre + distance * Vector::Ones(5);
    return (evaluate(estimate, theta, 1, 7).gradient - evaluate(*full, theta).gradient).norm();
  };
  EXPECT_LT(error(model, 1e-3), .11 * error(model, 1e-2));
  EXPECT_LT(error(model, 1e-2), .05 * error(minibatch, 1e-2));
}

TEST(AnchoredMinibatch, GradientIsTheDerivativeAndThreadsDoNotMatter) {
  const auto full = logistic_model(3000, 60);
  const Minibatch minibatch(full, {2000, 1, 3});
  const AnchoredMinibatch model(minibatch, anchor_at(*full, normal_matrix(60, 1, 8, .1)));
  const Matrix theta = normal_matrix(60, 3, 9, .1);
  GradientCheckOptions options;
  options.iteration = 5;
  const GradientCheck check = check_gradient(model, theta.col(0), options);
  EXPECT_TRUE(check.passed) << check.sentence;
  EXPECT_EQ(evaluate(model, theta, 1, 5).gradient, evaluate(model, theta, 2, 5).gradient);
}

}  // namespace
}  // namespace magva::testing
