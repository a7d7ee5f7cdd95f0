#include "search/lanczos.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

namespace magva {

namespace {
/// The iteration has found an invariant subspace where what is left of a vector is so much shorter.
constexpr double kLanczosBreak = 1e-10;
}  // namespace

// With z = Sigma u the products of Sigma^1/2 A Sigma^1/2 need no root: A z is the next u, before it is made
// orthogonal in the metric of Sigma. Products by wide differences are only nearly linear: the whole
// projection is kept, not three diagonals of it. 2 `steps` columns are what a sketch costs.
RitzPairs lanczos(const Product& curvature_times, const LowRankPlusDiagonal& sigma, const DualVectors& known,
                  Vector first, Index steps) {
  const Index m = sigma.m();
  steps = std::min(steps, m - known.z.cols());
  Matrix z(m, steps);
  Matrix u(m, steps);
  Matrix projection = Matrix::Zero(steps, steps);
  Matrix half_difference = Matrix::Zero(m, steps);
  Vector next = std::move(first);
  next -= known.u * (known.z.transpose() * next);
  Vector image = sigma.times(next);
  double length = std::sqrt(next.dot(image));
  Index used = 0;
  while (used < steps) {
    u.col(used) = next / length;
    z.col(used) = image / length;
    const Matrix product = curvature_times(z.col(used));
    next = product.rowwise().mean();
    half_difference.col(used) = product.col(0) - next;
    ++used;
    for (int twice = 0; twice < 2; ++twice) {
      next -= known.u * (known.z.transpose() * next);
      const Vector along = z.leftCols(used).transpose() * next;
      next -= u.leftCols(used) * along;
      projection.col(used - 1).head(used) += along;
    }
    image = sigma.times(next);
    length = std::sqrt(std::max(0., next.dot(image)));
    if (!(length > kLanczosBreak * std::abs(projection(used - 1, used - 1)))) break;
    if (used < steps) projection(used, used - 1) = length;
  }
  const Matrix square = projection.topLeftCorner(used, used);
  const Eigen::SelfAdjointEigenSolver<Matrix> ritz(.5 * (square + square.transpose()));
  const Matrix noise = ritz.eigenvectors().transpose() *
                       (z.leftCols(used).transpose() * half_difference.leftCols(used)) * ritz.eigenvectors();
  return {ritz.eigenvalues(), length * ritz.eigenvectors().row(used - 1).transpose().cwiseAbs(),
          .5 * (noise + noise.transpose()).rowwise().norm(),
          DualVectors{z.leftCols(used) * ritz.eigenvectors(), u.leftCols(used) * ritz.eigenvectors()}};
}

}  // namespace magva
