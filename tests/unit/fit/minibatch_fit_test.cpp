
#include <Eigen/Cholesky>
#include <cmath>

#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/minibatch.hpp"
#include "models/anchored_minibatch.hpp"
#include "unit/model/support.hpp"

namespace magva::testing {
namespace {

constexpr double kNoise = 2;

struct Problem {
  std::shared_ptr<const Regression> full;
  Vector mean;  // of the exact posterior
  Matrix covariance;
};

/// Linear regression with known noise, whose posterior is Gaussian.
Problem linear_problem(Index rows, Index cols) {
  const RowMatrix x = random_design(rows, cols, 31);
  const Vector y = x * normal_matrix(cols, 1, 32) + kNoise * normal_matrix(rows, 1, 33);
  const NormalPriorOptions prior{.variance = 10};
  Matrix precision = x.transpose() * x / (kNoise * kNoise);
  precision.diagonal().array() += 1 / prior.variance;
  const Eigen::LLT<Matrix> chol(precision);
  LinearOptions options;
  options.noise_sd = kNoise;
  return {std::make_shared<const Regression>(linear_regression({Design::own(x), y, {}, {}}, prior, options)),
          chol.solve(x.transpose() * y / (kNoise * kNoise)), chol.solve(Matrix::Identity(cols, cols))};
}

TEST(FitBatch, FindsTheExactPosteriorOfALinearRegression) {
  const Problem problem = linear_problem(20000, 6);
  const Minibatch model(problem.full, {400, 1, 1});
  FitOptions options;
  options.diagnostic_draws = 1000;
  const FitResult result = fit(model, options);
  EXPECT_EQ(result.stopped, StopReason::kIterationLimit);
  EXPECT_TRUE(result.trusted);
  // Adam's last steps leave less than a fiftieth of a posterior sd; a plain minibatch of these rows says no
  // more than 7 of them: sqrt(20000 / 400).
  const Vector sd = problem.covariance.diagonal().cwiseSqrt();
  EXPECT_LT((result.posterior.mean() - problem.mean).cwiseQuotient(sd).cwiseAbs().maxCoeff(), .02);
  EXPECT_LT((result.posterior.sd().cwiseQuotient(sd).array() - 1).abs().maxCoeff(), .03);
  // The exact evidence: the ELBO of the exact posterior, from the log density at its mean.
  const Evaluated top = evaluate(*problem.full, problem.mean);
  const double evidence = top.log_density(0) + 3 * std::log(2 * M_PI) +
                          Eigen::LLT<Matrix>(problem.covariance).matrixLLT().diagonal().array().log().sum();
  // KL below .01 nats at these errors, and four standard errors.
  EXPECT_NEAR(result.elbo, evidence, .01 + 4 * result.elbo_se);
  EXPECT_LE(result.elbo, evidence + 4 * result.elbo_se);
}

TEST(FitBatch, ANoisyLogDensityThatIsNoMinibatchIsRefused) {
  const Minibatch minibatch(linear_problem(200, 3).full, {20, 1, 1});
  const AnchoredMinibatch noisy(minibatch, {Vector::Zero(3), 0, Vector::Zero(3)});
  try {
    FitOptions away;  // from the anchor, where there is no noise
    away.init = Vector::Ones(3);
    fit(noisy, away);
    FAIL() << "a minibatch was fitted as if it were the whole model";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("Minibatch"), std::string::npos);
  }
}

TEST(FitBatch, CountsGradientsByTheRowsTheyRead) {
  const Problem problem = linear_problem(20000, 4);
  const Minibatch model(problem.full, {200, 1, 1});
  FitOptions options;
  options.max_iterations = 100;
  options.diagnostic_draws = 100;
  const FitResult result = fit(model, options);
  // 100 iterations of 9 draws on a hundredth of the rows are 9 full gradients. Two to eight passes of 9 draws
  // and the last one, and the sample's fit, far below 20,000 gradients on a fiftieth of the rows, come on
  // top.
  EXPECT_GE(result.gradient_evaluations, 9 + 2 * 9);
  EXPECT_LE(result.gradient_evaluations, 9 + 9 * 9 + 400);
  EXPECT_EQ(result.iterations, 100);
}

TEST(FitBatch, StopsWhenTold) {
  const Problem problem = linear_problem(5000, 4);
  const Minibatch model(problem.full, {100, 1, 1});
  FitOptions options;
  options.diagnostic_draws = 100;
  const FitResult result =
      fit(model, options,
          {[](const FitView& view) { return view.phase != Phase::kRefinement || view.iteration < 5; }});
  EXPECT_EQ(result.stopped, StopReason::kInterrupted);
  EXPECT_EQ(result.iterations, 5);
  EXPECT_FALSE(result.trusted);
}

TEST(FitBatch, RefusesOptionsThatCannotBeMeant) {
  const Minibatch model(linear_problem(100, 2).full, {10, 1, 1});
  FitOptions options;
  options.minibatch.draws = 3;
  EXPECT_THROW(fit(model, options), UsageError);
}

}  // namespace
}  // namespace magva::testing
