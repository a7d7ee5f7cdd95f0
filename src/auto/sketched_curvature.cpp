#include "sketched_curvature.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

#include "magva/auto/constants.hpp"
#include "magva/noise.hpp"

namespace magva {

// With z = Sigma u the products of Sigma^1/2 A Sigma^1/2 need no root: A z is the next u, before it is made
// orthogonal in the metric of Sigma. Full re-orthogonalisation: 2 `steps` columns are what a sketch costs.
RitzPairs lanczos(const Product& curvature_times, const FactorMatrix& sigma, Index steps,
                  std::uint64_t seed) {
  const Index m = sigma.m();
  steps = std::min(steps, m);
  Matrix z(m, steps);
  Matrix u(m, steps);
  Matrix first(m, 1);
  Noise(seed, NoiseStream::kStarts).fill(99, 0, first);
  Vector next = first.col(0).cwiseQuotient(sigma.residual());
  Vector image = sigma.times(next);
  double length = std::sqrt(next.dot(image));
  Vector alpha(steps);
  Vector beta = Vector::Zero(steps);
  Index used = 0;
  while (used < steps) {
    u.col(used) = next / length;
    z.col(used) = image / length;
    next = curvature_times(z.col(used));
    alpha(used) = z.col(used).dot(next);
    ++used;
    for (int twice = 0; twice < 2; ++twice) next -= u.leftCols(used) * (z.leftCols(used).transpose() * next);
    image = sigma.times(next);
    length = std::sqrt(std::max(0., next.dot(image)));
    beta(used - 1) = length;
    if (!(length > constants::kLanczosBreak * std::abs(alpha(used - 1)))) break;
  }
  Matrix tridiagonal = Matrix::Zero(used, used);
  for (Index j = 0; j < used; ++j) {
    tridiagonal(j, j) = alpha(j);
    if (j + 1 < used) tridiagonal(j, j + 1) = tridiagonal(j + 1, j) = beta(j);
  }
  const Eigen::SelfAdjointEigenSolver<Matrix> ritz(tridiagonal);
  return {ritz.eigenvalues(), beta(used - 1) * ritz.eigenvectors().row(used - 1).transpose().cwiseAbs(),
          z.leftCols(used) * ritz.eigenvectors(), u.leftCols(used) * ritz.eigenvectors()};
}

SketchedCurvature::SketchedCurvature(FactorMatrix sigma, const Product& curvature_times, std::uint64_t seed)
    : sigma_(std::move(sigma)) {
  const RitzPairs ritz = lanczos(curvature_times, sigma_, constants::kSketchSteps, seed);
  std::vector<Index> found;
  for (Index k = 0; k < ritz.values.size(); ++k) {
    const double size = std::abs(ritz.values(k));
    if (ritz.errors(k) < constants::kRitzError * std::max(size, constants::kNewtonFloor))
      found.push_back(k);
    else
      rest_ = std::max(rest_, size + ritz.errors(k));
  }
  z_ = ritz.z(Eigen::all, found);
  u_ = ritz.u(Eigen::all, found);
  values_ = ritz.values(found);
}

Matrix SketchedCurvature::times(ConstMatrixRef x) const {
  return sigma_.solve(x) + u_ * ((values_.array() - 1).matrix().asDiagonal() * (u_.transpose() * x));
}

Vector SketchedCurvature::diagonal() const {
  return sigma_.inverse_diagonal() + u_.cwiseAbs2() * (values_.array() - 1).matrix();
}

// Negative curvature counts by its size: the steps there are as short, and uphill.
Matrix SketchedCurvature::bound_times(ConstMatrixRef x) const {
  const Vector beyond = values_.cwiseAbs().cwiseMax(constants::kNewtonFloor).array() - rest_;
  return rest_ * sigma_.solve(x) + u_ * (beyond.asDiagonal() * (u_.transpose() * x));
}

Vector SketchedCurvature::bound_solve(ConstVectorRef g) const {
  const Vector beyond =
      values_.cwiseAbs().cwiseMax(constants::kNewtonFloor).cwiseInverse().array() - 1 / rest_;
  return sigma_.times(g) / rest_ + z_ * beyond.cwiseProduct(z_.transpose() * g);
}

}  // namespace magva
