#include "refine/sketched_curvature.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

#include "fit/constants.hpp"

namespace magva {

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
  Matrix apart = Matrix::Zero(m, steps);
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
    apart.col(used) = product.col(0) - next;
    ++used;
    for (int twice = 0; twice < 2; ++twice) {
      next -= known.u * (known.z.transpose() * next);
      const Vector along = z.leftCols(used).transpose() * next;
      next -= u.leftCols(used) * along;
      projection.col(used - 1).head(used) += along;
    }
    image = sigma.times(next);
    length = std::sqrt(std::max(0., next.dot(image)));
    if (!(length > constants::kLanczosBreak * std::abs(projection(used - 1, used - 1)))) break;
    if (used < steps) projection(used, used - 1) = length;
  }
  const Matrix square = projection.topLeftCorner(used, used);
  const Eigen::SelfAdjointEigenSolver<Matrix> ritz(.5 * (square + square.transpose()));
  const Matrix noise = ritz.eigenvectors().transpose() *
                       (z.leftCols(used).transpose() * apart.leftCols(used)) * ritz.eigenvectors();
  return {ritz.eigenvalues(), length * ritz.eigenvectors().row(used - 1).transpose().cwiseAbs(),
          .5 * (noise + noise.transpose()).rowwise().norm(),
          DualVectors{z.leftCols(used) * ritz.eigenvectors(), u.leftCols(used) * ritz.eigenvectors()}};
}

SketchedCurvature::SketchedCurvature(LowRankPlusDiagonal sigma, const Product& curvature_times,
                                     ConstMatrixRef first)
    : sigma_(std::move(sigma)) {
  const DualVectors none{Matrix(sigma_.m(), 0), Matrix(sigma_.m(), 0)};
  const RitzPairs ritz = lanczos(curvature_times, sigma_, none, first.col(0), constants::kSketchSteps);
  std::vector<Index> found;
  for (Index k = 0; k < ritz.values.size(); ++k)
    if (ritz.errors(k) < constants::kRitzError * std::max(std::abs(ritz.values(k)), constants::kNewtonFloor))
      found.push_back(k);
  found_ = {ritz.vectors.z(Eigen::all, found), ritz.vectors.u(Eigen::all, found)};
  values_ = ritz.values(found);
  bounds_ =
      (values_.cwiseAbs() + constants::kRitzNoise * ritz.noise(found)).cwiseMax(constants::kNewtonFloor);
  const RitzPairs rest = lanczos(curvature_times, sigma_, found_, first.col(1), constants::kRestSteps);
  rest_ =
      std::max(1., (rest.values.cwiseAbs() + rest.errors + constants::kRitzNoise * rest.noise).maxCoeff());
}

Matrix SketchedCurvature::excess_times(ConstMatrixRef x) const {
  return found_.u * ((values_.array() - 1).matrix().asDiagonal() * (found_.u.transpose() * x));
}

Vector SketchedCurvature::excess_diagonal() const {
  return found_.u.cwiseAbs2() * (values_.array() - 1).matrix();
}

// Negative curvature counts by its size: the steps there are as short, and uphill.
Matrix SketchedCurvature::bound_times(ConstMatrixRef x) const {
  const Vector beyond = bounds_.array() - rest_;
  return rest_ * sigma_.solve(x) + found_.u * (beyond.asDiagonal() * (found_.u.transpose() * x));
}

Vector SketchedCurvature::solve(ConstVectorRef g, double rest) const {
  const Vector beyond = bounds_.cwiseInverse().array() - 1 / rest;
  return sigma_.times(g) / rest + found_.z * beyond.cwiseProduct(found_.z.transpose() * g);
}

}  // namespace magva
