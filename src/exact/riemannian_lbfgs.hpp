#pragma once
// L-BFGS on a product of Euclidean spaces and manifolds. A step and its gradient are transported by
// projection into the tangent space of the step's end, where the new gradient is. Older pairs stay as they
// are in the embedding space, and the direction made of them is projected: transporting all in every
// iteration took as many iterations and half the time of a fit with thousands of parameters.
#include <functional>

#include "exact/newton.hpp"

namespace magva {

/// A function to be maximised over a manifold, in coordinates of its embedding space.
class RiemannianObjective {
 public:
  virtual ~RiemannianObjective() = default;
  /// The value at x, -infinity where there is none, and the Riemannian gradient.
  virtual double evaluate(ConstVectorRef x, Vector& gradient) = 0;
  virtual void project(ConstVectorRef x, VectorRef v) = 0;
  virtual Vector retract(ConstVectorRef x, ConstVectorRef step) = 0;
  /// False ends the ascent.
  virtual bool go_on(double value) = 0;
};

struct Ascent {
  Vector x;
  double value;
  ExactStop stop;
};

/// Ends, as converged, where the Newton decrement by the learned Hessian and the gain of the last iterations
/// are below `tolerance`.
Ascent ascend(RiemannianObjective& objective, Vector start, double tolerance, int max_iterations);

}  // namespace magva
