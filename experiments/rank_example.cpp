#include "experiments/rank_example.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <cmath>

namespace magva::experiments {

namespace {

double smallest_singular_value(const Matrix& b) {
  const double square = Eigen::SelfAdjointEigenSolver<Matrix>(b.transpose() * b).eigenvalues()(0);
  return std::sqrt(std::max(square, 0.));
}

/// The polar factor, which is the paper's retraction of B + U.
Matrix polar(const Matrix& b) {
  return b * Eigen::SelfAdjointEigenSolver<Matrix>(b.transpose() * b).operatorInverseSqrt();
}

}  // namespace

RankExample rank_example() {
  constexpr double kStep = .01, kResidual = .1;
  const Matrix b{{1, 0}, {2, 1}}, gradient{{-2, 0}, {-50, 100}};
  const Matrix after = b - kStep * gradient, nearby = b - 1.001 * kStep * gradient;
  const Matrix start = polar(b);
  const Matrix inner = start.transpose() * gradient;
  const Matrix tangent = gradient - start * (inner + inner.transpose()) / 2;
  const Matrix covariance = after * after.transpose() + kResidual * kResidual * Matrix::Identity(2, 2);
  return {.after = after,
          .smallest_before = smallest_singular_value(b),
          .smallest_after = smallest_singular_value(after),
          .smallest_nearby = smallest_singular_value(nearby),
          .smallest_on_stiefel = smallest_singular_value(polar(start - kStep * tangent)),
          .smallest_variance = Eigen::SelfAdjointEigenSolver<Matrix>(covariance).eigenvalues()(0)};
}

std::string describe(const RankExample& e) {
  return fmt::format(
      "B = (1 0; 2 1), the printed gradient and a step of .01 give ({:.2f} {:.2f}; {:.2f} {:.2f}): the "
      "smallest singular "
      "value falls from {:.2f} to {:.2f}, so the arithmetic is right. The example needs a gradient that "
      "cancels a column "
      "exactly: one that is a thousandth larger leaves {:.1g}. Nor does it harm the fit by itself: with d2 = "
      ".1 the "
      "smallest eigenvalue of Sigma = BB' + D2^2 is still {:.2g}. The same gradient step on the Stiefel "
      "manifold, from the polar factor "
      "of B, leaves every singular value at {:.2f}, as the paper says.",
      e.after(0, 0), e.after(0, 1), e.after(1, 0), e.after(1, 1), e.smallest_before, e.smallest_after,
      e.smallest_nearby, e.smallest_variance, e.smallest_on_stiefel);
}

}  // namespace magva::experiments
