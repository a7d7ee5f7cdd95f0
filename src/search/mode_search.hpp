#pragma once
// L-BFGS towards a mode of the log density, with the points on its way: where the mode is useless, as in a
// funnel, one of them is the better start.
#include <functional>
#include <vector>

#include "core/evaluator.hpp"
#include "sparse/factored_precision.hpp"

namespace magva {

struct PathPoint {
  Vector theta;
  Vector gradient;
  double log_density;
};

struct ModeSearch {
  PathPoint end;           ///< the highest point found
  bool converged = false;  ///< the log density stopped rising, and the gradient is that of a local maximum
  std::vector<PathPoint> path;  ///< points on the way, the start first, thinned out evenly
};

/// A function to maximise: its value, and its gradient into the second argument; -infinity where it has none.
using ObjectiveFunction = std::function<double(ConstVectorRef, VectorRef)>;

/// How far a search goes, and what it remembers.
struct SearchLimits {
  int iterations;
  double tolerance = 1e-3;  ///< it ends when the value rose by less than this ...
  std::size_t window = 8;   ///< ... in so many iterations
  std::size_t pairs = 20;   ///< of L-BFGS
};

/// L-BFGS from `start`, whose value must be finite. Where the objective throws Stopped, the highest point so
/// far.
ModeSearch maximize(const ObjectiveFunction& objective, ConstVectorRef start, const SearchLimits& limits);

/// Searches from `start`, whose log density must be finite. Where the evaluator's fit must end on the way,
/// this returns the highest point so far.
ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations);
/// The same with a positive definite curvature as L-BFGS's first guess: scales and correlations no longer
/// matter.
ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations,
                       ConstMatrixRef curvature);
ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations,
                       std::shared_ptr<const FactoredPrecision> curvature);

}  // namespace magva
