#pragma once
// What the update rules do with each number, n of them at a time.
#include "magva/algorithm1.hpp"
#include "magva/types.hpp"

namespace magva::rule {

/// to = a x + b y; `to` may be x or y.
void blend(Index n, double a, const double* x, double b, const double* y, double* to);
/// squares = beta squares + (1 - beta) g^2
void blend_squares(Index n, double beta, const double* g, double* squares);

/// The printed RMSProp's step, alpha g / (sgn(E) sqrt|E| + epsilon), the denominator guarded: its magnitude
/// is kept at or above guard sqrt(1 - beta) |g|.
void rmsprop_step(Index n, const RuleOptions& options, const double* g, const double* squares, double* step);
/// The printed AdaDelta's step, g (sgn(D) sqrt|D| + epsilon) / (sgn(E) sqrt|E| + epsilon), guarded as before,
/// which then enters the moment of the steps D.
void adadelta_step(Index n, const RuleOptions& options, const double* g, const double* squares, double* steps,
                   double* step);
/// With non-negative accumulators, which the gradient enters first.
void rmsprop_stable_step(Index n, const RuleOptions& options, const double* g, double* squares, double* step);
/// Zeiler (2012): epsilon inside the roots.
void adadelta_stable_step(Index n, const RuleOptions& options, const double* g, double* squares,
                          double* steps, double* step);
/// step <- alpha m / (sqrt(E) + epsilon), both corrected for their start at zero; `step` holds the gradient.
void adam_step(Index n, const RuleOptions& options, double mean_power, double square_power,
               const double* mean, double* squares, double* step);

/// to = x + scale step, where that is finite, else x. True if all of it was. `to` may be x or step.
bool advance(Index n, double scale, const double* x, const double* step, double* to);

}  // namespace magva::rule
