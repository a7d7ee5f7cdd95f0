#include "mixed/hermite.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

namespace magva::mixed {

HermiteRule hermite_rule(Index points, Index dimension) {
  Matrix jacobi = Matrix::Zero(points, points);
  for (Index k = 1; k < points; ++k) jacobi(k, k - 1) = jacobi(k - 1, k) = std::sqrt(static_cast<double>(k));
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(jacobi);
  const Vector& x = solver.eigenvalues();
  const Vector log_weight =
      2 * solver.eigenvectors().row(0).transpose().array().abs().log() + .5 * x.array().square();
  Index total = 1;
  for (Index a = 0; a < dimension; ++a) total *= points;
  HermiteRule rule{Matrix(dimension, total), Vector::Zero(total)};
  for (Index k = 0; k < total; ++k) {
    Index digits = k;
    for (Index a = 0; a < dimension; ++a, digits /= points) {
      rule.points(a, k) = x(digits % points);
      rule.log_weights(k) += log_weight(digits % points);
    }
  }
  return rule;
}

}  // namespace magva::mixed
