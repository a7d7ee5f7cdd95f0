#pragma once
// What hyper-parameters are drawn from to find their posterior by importance weights, in units of the axes of
// a design: at first along every axis as if the others stayed at 0, and around the nodes of tails; then from
// t distributions, each with the moments of all draws before it. Weights are those of one mixture of all
// proposals (Cornuet, Marin, Mira & Robert 2012).
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

  /// So many from the newest, and more where there are tails.
  Matrix draws(Index count);
  /// Of all together.
  Vector log_density(const Matrix& y) const;
  /// A further one, from the weights of all draws.
  void learn(const Matrix& y, const Vector& log_weights);

 private:
  struct Part {
    mixed::StudentT density;
    Index drawn;
  };
  std::vector<LineDensity> axes_;
  Index drawn_on_axes_ = 0;
  std::vector<Part> parts_;
};

}  // namespace magva
