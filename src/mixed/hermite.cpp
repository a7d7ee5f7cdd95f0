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
  Index points;     // along each axis
  double value;     // spread up to which they do for values
  double gradient;  // and for gradients
};

/// Of one, two, ... effects; the last does for any spread.
std::vector<Step> steps_of(Index dimension) {
  switch (dimension) {
    case 1:
      return {{5, .3, .05},   {7, .5, .08},   {9, .75, .12}, {11, 1.05, .2},
              {15, 1.8, 1.2}, {21, 3.6, 2.4}, {31, 0, 0}};
    case 2:
      return {{7, .75, .3}, {9, 1.5, 1}, {11, 3, 2}, {15, 0, 0}};
    case 3:
      return {{5, .6, .3}, {7, 1.8, 1.2}, {9, 0, 0}};
    case 4:
      return {{5, 0, 0}};
    case 5:
      return {{4, 0, 0}};
    default:
      return {{3, 0, 0}};
  }
}

}  // namespace

HermiteRules::HermiteRules(Index dimension) {
  for (const Step& step : steps_of(dimension)) {
    rules_.push_back(hermite_rule(step.points, dimension));
    value_.push_back(step.value);
    gradient_.push_back(step.gradient);
  }
}

const HermiteRule& HermiteRules::for_spread(double spread, Accuracy accuracy) const {
  const std::vector<double>& up_to = accuracy == Accuracy::value ? value_ : gradient_;
  std::size_t k = 0;
  while (k + 1 < rules_.size() && !(spread <= up_to[k])) ++k;
  return rules_[k];
}

}  // namespace magva::mixed
