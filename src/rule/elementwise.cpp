#include "rule/elementwise.hpp"

#include <cmath>

#include "core/vector.hpp"

namespace magva::rule {

using detail::by_packs;
using detail::fill;
using detail::inverse_root;
using detail::multiply_add;
using detail::Pack;

namespace {

// beta old + (1 - beta) x^2 in two operations.
Pack blend_square(Pack old, double beta, Pack x) {
  return multiply_add(fill(1 - beta), multiply_add(x, x, -old), old);
}

// Of accumulators, which may be zero.
Pack root(Pack e) { return e * inverse_root(detail::max(fill(1e-300), e)); }

// sgn(e) sqrt|e| + epsilon, the printed rules' root of an accumulator that may be negative.
Pack signed_root(Pack e, double epsilon) {
  const Pack size = root(detail::abs(e));
  return (e < Pack{} ? -size : size) + epsilon;
}

Pack guarded(Pack denominator, Pack floor) {
  return denominator < Pack{} ? -detail::max(floor, -denominator) : detail::max(floor, denominator);
}

double floor_of(const RuleOptions& options) { return options.guard * std::sqrt(1 - options.decay); }

}  // namespace

void blend(Index n, double a, const double* x, double b, const double* y, double* to) {
  by_packs(n, [&](auto pack) { pack.put(to, multiply_add(fill(a), pack.get(x), b * pack.get(y))); });
}

void blend_squares(Index n, double beta, const double* g, double* squares) {
  by_packs(n, [&](auto pack) { pack.put(squares, blend_square(pack.get(squares), beta, pack.get(g))); });
}

void rmsprop_step(Index n, const RuleOptions& options, const double* g, const double* squares, double* step) {
  const double floor = floor_of(options);
  by_packs(n, [&](auto pack) {
    const Pack gradient = pack.get(g);
    const Pack denominator =
        guarded(signed_root(pack.get(squares), options.epsilon), floor * detail::abs(gradient));
    pack.put(step, options.step * (gradient / denominator));
  });
}

void adadelta_step(Index n, const RuleOptions& options, const double* g, const double* squares, double* steps,
                   double* step) {
  const double floor = floor_of(options);
  const double beta = options.decay;
  by_packs(n, [&](auto pack) {
    const Pack gradient = pack.get(g);
    const Pack moment = pack.get(steps);
    const Pack denominator =
        guarded(signed_root(pack.get(squares), options.epsilon), floor * detail::abs(gradient));
    const Pack direction = gradient * signed_root(moment, options.epsilon) / denominator;
    pack.put(step, direction);
    pack.put(steps, blend_square(moment, beta, direction));
  });
}

void rmsprop_stable_step(Index n, const RuleOptions& options, const double* g, double* squares,
                         double* step) {
  const double beta = options.decay;
  by_packs(n, [&](auto pack) {
    const Pack gradient = pack.get(g);
    const Pack square = blend_square(pack.get(squares), beta, gradient);
    pack.put(squares, square);
    pack.put(step, options.step * gradient / (root(square) + options.epsilon));
  });
}

void adadelta_stable_step(Index n, const RuleOptions& options, const double* g, double* squares,
                          double* steps, double* step) {
  const double beta = options.decay;
  by_packs(n, [&](auto pack) {
    const Pack gradient = pack.get(g);
    const Pack moment = pack.get(steps);
    const Pack square = blend_square(pack.get(squares), beta, gradient);
    pack.put(squares, square);
    // sqrt(a / b) = a / sqrt(a b)
    const Pack above = moment + options.epsilon;
    const Pack direction = above * inverse_root(above * (square + options.epsilon)) * gradient;
    pack.put(step, direction);
    pack.put(steps, blend_square(moment, beta, direction));
  });
}

void adam_step(Index n, const RuleOptions& options, double mean_power, double square_power,
               const double* mean, double* squares, double* step) {
  const double beta = options.decay;
  const double alpha = options.step / (1 - mean_power);
  const double correction = 1 / (1 - square_power);
  by_packs(n, [&](auto pack) {
    const Pack gradient = pack.get(step);
    const Pack square = blend_square(pack.get(squares), beta, gradient);
    pack.put(squares, square);
    pack.put(step, alpha * pack.get(mean) / (root(square * correction) + options.epsilon));
  });
}

bool advance(Index n, double scale, const double* x, const double* step, double* to) {
  Pack spoilt{};
  by_packs(n, [&](auto pack) {
    const Pack by = scale * pack.get(step);
    const Pack zero = by * 0.;  // not a number where `by` is not finite
    spoilt += zero;
    pack.put(to, pack.get(x) + (zero == Pack{} ? by : Pack{}));
  });
  return detail::add_up(spoilt) == 0;
}

}  // namespace magva::rule
