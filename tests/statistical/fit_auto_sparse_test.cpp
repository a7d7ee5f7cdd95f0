// The default on posteriors with thousands of parameters whose Hessian is sparse.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "magva/fit.hpp"
#include "support/targets.hpp"
#include "support/temporary_folder.hpp"

namespace magva {
namespace {

/// Counts y_t ~ Poisson(exp(x_t)) of a random walk x, as in fit_auto_hierarchical_test.cpp, without anything
/// of size m x m: its best Gaussian has a tridiagonal precision.
class LongWalk {
 public:
  explicit LongWalk(Index size) : counts_(size), diagonal_(Vector::Constant(size, 2 * kStepPrecision)) {
    diagonal_(0) = 1 + kStepPrecision;
    diagonal_(size - 1) = kStepPrecision;
    for (Index t = 0; t < size; ++t) counts_(t) = static_cast<double>((7 * t + t / 3) % 5);
  }

  auto model() const {
    return make_model(counts_.size(), [this](ConstVectorRef theta, VectorRef gradient) {
      const Vector rate = theta.array().exp();
      const Vector pull = prior_times(theta);
      gradient = counts_ - rate - pull;
      return counts_.dot(theta) - rate.sum() - .5 * theta.dot(pull);
    });
  }

  struct Moments {
    Vector mean, sd;
  };
  /// Of the best Gaussian: its precision is the walk's and the expected rates on the diagonal.
  Moments best() const {
    const Index m = counts_.size();
    Moments out{Vector::Zero(m), Vector::Zero(m)};
    for (int k = 0; k < 60; ++k) {
      const Vector rate = (out.mean.array() + .5 * out.sd.array().square()).exp();
      const Vector diagonal = diagonal_ + rate;
      out.mean += solve(diagonal, counts_ - rate - prior_times(out.mean));
      out.sd = inverse_diagonal(diagonal).cwiseSqrt();
    }
    return out;
  }

 private:
  static constexpr double kStepPrecision = 25;

  Vector prior_times(ConstVectorRef x) const {
    const Index m = x.size();
    Vector out = diagonal_.cwiseProduct(x);
    out.head(m - 1) -= kStepPrecision * x.tail(m - 1);
    out.tail(m - 1) -= kStepPrecision * x.head(m - 1);
    return out;
  }
  /// Pivots of the elimination from the first row on, or from the last.
  static Vector pivots(const Vector& diagonal) {
    Vector out = diagonal;
    for (Index t = 1; t < out.size(); ++t) out(t) -= kStepPrecision * kStepPrecision / out(t - 1);
    return out;
  }
  static Vector solve(const Vector& diagonal, Vector b) {
    const Vector pivot = pivots(diagonal);
    for (Index t = 1; t < b.size(); ++t) b(t) += kStepPrecision / pivot(t - 1) * b(t - 1);
    for (Index t = b.size() - 1; t >= 0; --t)
      b(t) = (b(t) + (t + 1 < b.size() ? kStepPrecision * b(t + 1) : 0)) / pivot(t);
    return b;
  }
  static Vector inverse_diagonal(const Vector& diagonal) {
    const Vector down = pivots(diagonal);
    const Vector up = pivots(diagonal.reverse()).reverse();
    return (down + up - diagonal).cwiseInverse();
  }

  Vector counts_;
  Vector diagonal_;
};

FitOptions few_draws() {
  FitOptions options;
  options.starts = 1;
  options.diagnostic_draws = 100;
  return options;
}

// 'Converged' promises .002 nats a parameter: means are .06 sds off, and logarithms of sds .04, as a root
// mean square; four times that for the worst.
TEST(FitAutoSparse, AStateSpaceModelOfManySteps) {
  constexpr Index kSize = 20'000;
  const LongWalk walk(kSize);
  const FitResult result = fit(walk.model(), few_draws());
  EXPECT_EQ(result.stopped, StopReason::kConverged) << result.stop_detail;
  EXPECT_EQ(result.posterior.kind(), GaussianKind::kSparsePrecision);
  const LongWalk::Moments best = walk.best();
  const Vector shift = (result.posterior.mean() - best.mean).cwiseQuotient(best.sd);
  const Vector log_ratio = result.posterior.sd().cwiseQuotient(best.sd).array().log();
  EXPECT_LT(std::sqrt(shift.squaredNorm() / kSize), .06);
  EXPECT_LT(std::sqrt(log_ratio.squaredNorm() / kSize), .04);
  EXPECT_LT(shift.cwiseAbs().maxCoeff(), .24);
  EXPECT_LT(log_ratio.cwiseAbs().maxCoeff(), .16);
}

TEST(FitAutoSparse, ThePosteriorOfALargeModelIsSavedAndDrawnFrom) {
  constexpr Index kSize = 5000;
  const LongWalk walk(kSize);
  FitOptions options = few_draws();
  options.max_iterations = 20;
  const FitResult result = fit(walk.model(), options);
  ASSERT_TRUE(result.posterior.is_sparse());
  const test::TemporaryFolder folder;
  result.posterior.save(folder.path() / "posterior", std::vector<std::string>(kSize, "x"));
  const Gaussian read = load_posterior(folder.path() / "posterior").gaussian;
  EXPECT_EQ(read.sd(), result.posterior.sd());
  const Matrix draws = read.draws(10, 1);
  EXPECT_EQ(draws, result.posterior.draws(10, 1));
  EXPECT_EQ(read.log_density(draws), result.posterior.log_density(draws));
}

}  // namespace
}  // namespace magva
