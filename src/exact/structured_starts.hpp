#pragma once
// Where the local maxima of low-rank Gaussians for a precision A lie, from its inverse Sigma alone.
//
// In units of the conditional sds a factor either explains a coordinate whole, whose residual sd tends to 0
// (factor analysis knows this as a Heywood case), or is spread over many coordinates. Given the coordinates J
// that factors explain, the others are best taken as independent with their conditional sds, but for spread
// factors: this gains log|Sigma_JJ| / 2 nats over independent coordinates, exactly, and a spread factor along
// an eigenvector of Sigma given J with the eigenvalue l at least (log l + 1 / l - 1) / 2 more. So sets J are
// compared without an ascent: which are the best is a matter of determinants, as in designs of experiments.
#include <vector>

#include "magva/types.hpp"

namespace magva {

/// Coordinates that factors explain whole, in ascending order.
struct ExplainedSet {
  std::vector<Index> coordinates;
  double gain;  ///< log|Sigma_JJ| / 2
};

/// About the best sets of that size, the best first: those that exchanges of one coordinate lead to, from a
/// greedy choice on, where the best `most` are kept.
std::vector<ExplainedSet> best_explained_sets(const Matrix& unit_covariance, Index size, std::size_t most);

/// A place to begin an ascent at.
struct StructuredStart {
  Matrix factors;
  Vector residual_sd;
  double gain;         ///< nats over independent coordinates
  double spread_gain;  ///< of these, by factors that are spread: an ascent gains some more
};

/// Those that may lead to the highest maximum, the highest gain first: with more or fewer explained
/// coordinates. `covariance`: A^-1.
std::vector<StructuredStart> structured_starts(const Matrix& covariance, const Vector& conditional_sd,
                                               Index rank);

}  // namespace magva
