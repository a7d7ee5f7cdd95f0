#pragma once
// Quadrature for expectations under a normal distribution.
#include <vector>

namespace magva::detail {

/// sum_k weight_k f(+-node_k) for E f(z), z ~ N(0, 1): pairs of nodes, and no node at 0.
struct PairRule {
  double largest_sd;
  std::vector<double> node;
  std::vector<double> weight;
};

/// All there are, from narrow to wide.
const std::vector<PairRule>& normal_rules();

/// A rule that is accurate to about 1e-12 for E f(sd z), with f a function that has no pole nearer than pi to
/// the real line and does not grow much faster than a polynomial. Null if sd is so large, or not a number,
/// that there is none.
const PairRule* normal_rule(double sd);

}  // namespace magva::detail
