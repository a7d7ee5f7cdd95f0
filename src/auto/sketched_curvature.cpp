#include "sketched_curvature.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

#include "magva/auto/constants.hpp"

namespace magva {

// With z = Sigma u the products of Sigma^1/2 A Sigma^1/2 need no root: A z is the next u, before it is made
// orthogonal in the metric of Sigma. Products by wide differences are only nearly linear: the whole
// projection is kept, not three diagonals of it. 2 `steps` columns are what a sketch costs.
RitzPairs lanczos(const Product& curvature_times, const FactorMatrix& sigma, Vector first, Index steps) {
  const Index m = sigma.m();
  steps = std::min(steps, m);
  Matrix z(m, steps);
  Matrix u(m, steps);
  Matrix projection = Matrix::Zero(steps, steps);
  Matrix apart = Matrix::Zero(m, steps);
  Vector next = std::move(first);
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
          .5 * (noise + noise.transpose()).rowwise().norm(), z.leftCols(used) * ritz.eigenvectors(),
          u.leftCols(used) * ritz.eigenvectors()};
}

SketchedCurvature::SketchedCurvature(FactorMatrix sigma, const Product& curvature_times, Vector first)
    : sigma_(std::move(sigma)) {
  const RitzPairs ritz = lanczos(curvature_times, sigma_, std::move(first), constants::kSketchSteps);
  std::vector<Index> found;
  for (Index k = 0; k < ritz.values.size(); ++k) {
    const double size = std::abs(ritz.values(k));
    if (ritz.errors(k) < constants::kRitzError * std::max(size, constants::kNewtonFloor))
      found.push_back(k);
    else
      rest_ = std::max(rest_, size + ritz.errors(k) + ritz.noise(k));
  }
  z_ = ritz.z(Eigen::all, found);
  u_ = ritz.u(Eigen::all, found);
  values_ = ritz.values(found);
  bounds_ = (values_.cwiseAbs() + ritz.noise(found)).cwiseMax(constants::kNewtonFloor);
}

Matrix SketchedCurvature::times(ConstMatrixRef x) const {
  return sigma_.solve(x) + u_ * ((values_.array() - 1).matrix().asDiagonal() * (u_.transpose() * x));
}

Vector SketchedCurvature::diagonal() const {
  return sigma_.inverse_diagonal() + u_.cwiseAbs2() * (values_.array() - 1).matrix();
}

// Negative curvature counts by its size: the steps there are as short, and uphill.
Matrix SketchedCurvature::bound_times(ConstMatrixRef x) const {
  const Vector beyond = bounds_.array() - rest_;
  return rest_ * sigma_.solve(x) + u_ * (beyond.asDiagonal() * (u_.transpose() * x));
}

Vector SketchedCurvature::bound_solve(ConstVectorRef g) const {
  const Vector beyond = bounds_.cwiseInverse().array() - 1 / rest_;
  return sigma_.times(g) / rest_ + z_ * beyond.cwiseProduct(z_.transpose() * g);
}

}  // namespace magva
