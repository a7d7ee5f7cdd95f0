#pragma once
// The paper's example, in section 2.1, of a gradient step after which B has lost a rank.
#include <string>

#include "magva/types.hpp"

namespace magva::experiments {

struct RankExample {
  Matrix after;                ///< B minus .01 times the gradient, both as printed
  double smallest_before;      ///< singular value of B
  double smallest_after;       ///< of `after`
  double smallest_nearby;      ///< the same with the gradient a thousandth larger
  double smallest_on_stiefel;  ///< after the same step on the Stiefel manifold, from the polar factor of B
  double smallest_variance;    ///< eigenvalue of Sigma = B B' + D2^2 at `after`, with d2 = .1
};

RankExample rank_example();
std::string describe(const RankExample& example);

}  // namespace magva::experiments
