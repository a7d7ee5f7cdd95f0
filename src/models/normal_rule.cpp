#include "models/normal_rule.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "magva/types.hpp"

namespace magva::detail {

namespace {

/// Gauss-Hermite with `nodes` nodes, an even number, by Golub and Welsch. The error for an integrand whose
/// nearest poles are i pi away falls like nodes! (sd / pi)^(2 nodes).
PairRule gauss_hermite(double largest_sd, Index nodes) {
  Matrix jacobi = Matrix::Zero(nodes, nodes);
  for (Index k = 1; k < nodes; ++k) jacobi(k, k - 1) = jacobi(k - 1, k) = std::sqrt(static_cast<double>(k));
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(jacobi);
  PairRule rule{largest_sd, {}, {}};
  for (Index k = nodes / 2; k < nodes; ++k) {
    rule.node.push_back(eigen.eigenvalues()(k));
    rule.weight.push_back(std::pow(eigen.eigenvectors()(0, k), 2));
  }
  return rule;
}

/// The midpoint rule. Poles at (-mean +- i pi) / sd leave an error of
/// exp(-2 pi^2 / (sd spacing) + pi^2 / (2 sd^2)), here below exp(-28).
PairRule midpoint(double largest_sd) {
  constexpr double kReach = 7.6;
  constexpr double kSquare = std::numbers::pi * std::numbers::pi;
  const double spacing = std::min(.78, 2 * kSquare / (28 * largest_sd + .5 * kSquare / largest_sd));
  PairRule rule{largest_sd, {}, {}};
  double total = 0;
  for (double z = .5 * spacing; z < kReach; z += spacing) {
    rule.node.push_back(z);
    rule.weight.push_back(std::exp(-.5 * z * z));
    total += 2 * rule.weight.back();
  }
  for (double& weight : rule.weight) weight /= total;
  return rule;
}

}  // namespace

const std::vector<PairRule>& normal_rules() {
  static const std::vector<PairRule> all = {
      gauss_hermite(.07, 4), gauss_hermite(.3, 8), midpoint(.7), midpoint(1),  midpoint(1.5),
      midpoint(2),           midpoint(3),          midpoint(4),  midpoint(6),  midpoint(8),
      midpoint(12),          midpoint(18),         midpoint(27), midpoint(40), midpoint(60)};
  return all;
}

const PairRule* normal_rule(double sd) {
  for (const PairRule& rule : normal_rules())
    if (sd <= rule.largest_sd) return &rule;
  return nullptr;
}

}  // namespace magva::detail
