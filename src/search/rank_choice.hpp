#pragma once
// How many factors pay: from the curvature, before any refinement.
#include <vector>

#include "magva/fit.hpp"
#include "search/curvature.hpp"
#include "search/quadratic_fit.hpp"

namespace magva {

/// Up to this m the covariance is full rank, whatever it gains: m^2/2 numbers cost less than the choice of a
/// rank would.
inline constexpr Index kFullRankDimension = 128;

struct RankChoice {
  Index rank = 0;
  std::vector<RankStep> path;
};

/// The lowest rank that gains nearly as much as full rank does, and has its marginal sds; where none of the
/// few that are cheaper does, or m is small, full rank: a dense curvature of m^2 numbers makes every rank
/// cost about the same, and no choice of factors is then left to go wrong.
RankChoice choose_rank(const QuadraticFitter& fitter, Index dimension);
/// The same from a sketch: at given scales a direction with eigenvalue l gains (l - 1 - log l)/2 nats.
RankChoice choose_rank(const CurvatureSketch& sketch);

}  // namespace magva
