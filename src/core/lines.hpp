#pragma once
// Points on lines through one centre, as Model::evaluate_lines has them.
#include "magva/types.hpp"

namespace magva {

/// Column k + K j is centre + steps(k) directions.col(j), with K steps.
inline Matrix points_on_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps) {
  const Index points = steps.size();
  Matrix theta(centre.size(), points * directions.cols());
  for (Index j = 0; j < directions.cols(); ++j)
    theta.middleCols(j * points, points) = (directions.col(j) * steps.transpose()).colwise() + centre;
  return theta;
}

}  // namespace magva
