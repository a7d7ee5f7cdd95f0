#pragma once
// Weighted draws that stand for the posterior where the Gaussian's own draws do not go, and what they say of
// quantities.
#include "magva/types.hpp"

namespace magva {

/// Draws in the columns, with weights that sum to 1. Column c belongs to group c modulo `groups`; groups are
/// independent. Draws around the points of a grid share their noise: there are as many groups as pairs of
/// noise vectors, and what differs from point to point of the grid is no noise.
struct PosteriorSample {
  Matrix theta;
  Vector weights;
  Index groups;
};

/// Of quantities, one row each.
struct SampleMoments {
  Vector mean, sd;
  Vector mean_se, log_sd_se;
};

/// `values`: of the quantities at the sample's draws. NaN for a quantity that is not finite at all of them.
SampleMoments moments_of(const Matrix& values, const PosteriorSample& sample);

/// Standard errors of a sum over independent groups, each a column.
Vector standard_errors(const Matrix& groups);

}  // namespace magva
