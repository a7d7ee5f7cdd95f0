#pragma once
// How many factors pay: from the curvature, before any refinement.
#include <vector>

#include "magva/fit.hpp"
#include "search/curvature.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

/// Up to this m the covariance is full rank: m^2/2 numbers cost less than the choice of a rank would.
inline constexpr Index kFullRankDimension = 128;

struct RankChoice {
  Index rank = 0;
  std::vector<RankStep> path;
};

/// Doubles the rank while that gains more than it costs; full rank where m is small.
RankChoice choose_rank(const QuadraticFitter& fitter, Index dimension);
/// The same from a sketch: at given scales a direction with eigenvalue l gains (l - 1 - log l)/2 nats.
RankChoice choose_rank(const CurvatureSketch& sketch);

}  // namespace magva
