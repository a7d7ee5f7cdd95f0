#pragma once
// Maximises the ELBO over a base Gaussian and the parameters of a shape, from the fitted Gaussian.
//
// Path derivatives ('sticking the landing', Roeder, Wu & Duvenaud 2017) with antithetic draws: with
// v = d(log h - log q) / dtheta, the gradient by any parameter is E[v' dtheta / dparameter], whose noise
// vanishes as q comes near to the posterior. Mean and Cholesky factor L of the base take natural-gradient
// steps, which in the coordinates L^-1 (z - mean) are the gradient itself, halved on the diagonal; the
// parameters of the layers take Adam's steps, on their manifolds.
#include <cstdint>
#include <limits>
#include <optional>

#include "core/evaluator.hpp"
#include "shape/shaped_gaussian.hpp"

namespace magva {

struct ShapeFitOptions {
  int iterations = 600;
  Index pairs = 16;   ///< of draws in an iteration
  double step = .03;  ///< of the layers' parameters, at first
  std::uint64_t seed = 1;
  /// What it must gain over the Gaussian, in nats, to be of use. A fifth of the iterations, as a fit of their
  /// own, show whether it can; if not, that is all.
  double least_gain = -std::numeric_limits<double>::infinity();
};

/// `map` is where it starts, as a rule the identity. Nothing where it cannot gain enough. Throws Stopped
/// where the fit must end.
std::optional<ShapedGaussian> fit_shape(Evaluator& evaluator, const Gaussian& start, ShapeMap map,
                                        const ShapeFitOptions& options);

}  // namespace magva
