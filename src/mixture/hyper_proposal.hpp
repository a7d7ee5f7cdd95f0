#pragma once
// What hyper-parameters are drawn from to find their posterior by importance weights, in units of the axes of
// a design: at first along every axis as if the others stayed at 0, then t distributions, each with the
// moments of all draws before it. Weights are those of one mixture of all proposals (Cornuet, Marin, Mira &
// Robert 2012).
#include <vector>

#include "assess/marginals.hpp"
#include "mixed/student_draws.hpp"
#include "mixture/hyper_design.hpp"

namespace magva {

/// Weights that sum to 1.
Vector shares(const Vector& log_weights);
/// How many draws they are worth.
double effective_draws(const Vector& share);

class HyperProposal {
 public:
  explicit HyperProposal(const HyperDesign& design);

  /// From the newest.
  Matrix draws(Index count) const;
  /// Of all together.
  Vector log_density(const Matrix& y) const;
  /// A further one, from the weights of all draws.
  void learn(const Matrix& y, const Vector& log_weights);

 private:
  std::vector<LineDensity> axes_;
  std::vector<mixed::StudentT> learnt_;
};

}  // namespace magva
