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

namespace {

struct Step {
  Index points;   // along each axis
  double spread;  // up to which they do
};

/// Of one, two, ... effects, for gradients.
std::vector<Step> steps_of(Index dimension) {
  switch (dimension) {
    case 1:
      return {{5, .2}, {7, .35}, {9, .5}, {11, .7}, {15, 1.2}, {21, 2.4}, {31, 0}};
    case 2:
      return {{7, .5}, {9, 1}, {11, 2}, {15, 0}};
    case 3:
      return {{5, .4}, {7, 1.2}, {9, 0}};
    case 4:
      return {{5, 0}};
    case 5:
      return {{4, 0}};
    default:
      return {{3, 0}};
  }
}

}  // namespace

HermiteRules::HermiteRules(Index dimension) {
  for (const Step& step : steps_of(dimension)) {
    rules_.push_back(hermite_rule(step.points, dimension));
    spread_.push_back(step.spread);
  }
}

const HermiteRule& HermiteRules::for_spread(double spread, Accuracy accuracy) const {
  constexpr double kFarther = 1.5;  // the same points reach for values
  const double wanted = accuracy == Accuracy::value ? spread / kFarther : spread;
  std::size_t k = 0;
  while (k + 1 < rules_.size() && !(wanted <= spread_[k])) ++k;
  return rules_[k];
}

}  // namespace magva::mixed
