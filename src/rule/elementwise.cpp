#include "rule/elementwise.hpp"

#include <cmath>

#include "core/vector.hpp"

namespace magva::rule {

using detail::for_each_vec;
using detail::inverse_sqrt;
using detail::multiply_add;
using detail::set;
using detail::Vec;

namespace {

// beta old + (1 - beta) x^2 in two operations.
Vec blend_square(Vec old, double beta, Vec x) {
  return multiply_add(set(1 - beta), multiply_add(x, x, -old), old);
}

// Of accumulators, which may be zero.
Vec guarded_sqrt(Vec e) { return e * inverse_sqrt(detail::max(set(1e-300), e)); }

// sgn(e) sqrt|e| + epsilon, the printed rules' root of an accumulator that may be negative.
Vec signed_root(Vec e, double epsilon) {
  const Vec size = guarded_sqrt(detail::abs(e));
  return (e < Vec{} ? -size : size) + epsilon;
}

Vec guarded(Vec denominator, Vec floor) {
  return denominator < Vec{} ? -detail::max(floor, -denominator) : detail::max(floor, denominator);
}

double floor_of(const RuleOptions& options) { return options.guard * std::sqrt(1 - options.decay); }

}  // namespace

void blend(Index n, double a, const double* x, double b, const double* y, double* to) {
  for_each_vec(n, [&](auto at) { at.store(to, multiply_add(set(a), at.load(x), b * at.load(y))); });
}

void blend_squares(Index n, double beta, const double* g, double* squares) {
  for_each_vec(n, [&](auto at) { at.store(squares, blend_square(at.load(squares), beta, at.load(g))); });
}

void rmsprop_step(Index n, const RuleOptions& options, const double* g, const double* squares, double* step) {
  const double floor = floor_of(options);
  for_each_vec(n, [&](auto at) {
    const Vec gradient = at.load(g);
    const Vec denominator =
        guarded(signed_root(at.load(squares), options.epsilon), floor * detail::abs(gradient));
    at.store(step, options.step * (gradient / denominator));
  });
}

void adadelta_step(Index n, const RuleOptions& options, const double* g, const double* squares, double* steps,
                   double* step) {
  const double floor = floor_of(options);
  const double beta = options.decay;
  for_each_vec(n, [&](auto at) {
    const Vec gradient = at.load(g);
    const Vec moment = at.load(steps);
    const Vec denominator =
        guarded(signed_root(at.load(squares), options.epsilon), floor * detail::abs(gradient));
    const Vec direction = gradient * signed_root(moment, options.epsilon) / denominator;
    at.store(step, direction);
    at.store(steps, blend_square(moment, beta, direction));
  });
}

void rmsprop_stable_step(Index n, const RuleOptions& options, const double* g, double* squares,
                         double* step) {
  const double beta = options.decay;
  for_each_vec(n, [&](auto at) {
    const Vec gradient = at.load(g);
    const Vec square = blend_square(at.load(squares), beta, gradient);
    at.store(squares, square);
    at.store(step, options.step * gradient / (guarded_sqrt(square) + options.epsilon));
  });
}

void adadelta_stable_step(Index n, const RuleOptions& options, const double* g, double* squares,
                          double* steps, double* step) {
  const double beta = options.decay;
  for_each_vec(n, [&](auto at) {
    const Vec gradient = at.load(g);
    const Vec moment = at.load(steps);
    const Vec square = blend_square(at.load(squares), beta, gradient);
    at.store(squares, square);
    // sqrt(a / b) = a / sqrt(a b)
    const Vec above = moment + options.epsilon;
    const Vec direction = above * inverse_sqrt(above * (square + options.epsilon)) * gradient;
    at.store(step, direction);
    at.store(steps, blend_square(moment, beta, direction));
  });
}

void adam_step(Index n, const RuleOptions& options, double mean_power, double square_power,
               const double* mean, double* squares, double* step) {
  const double beta = options.decay;
  const double alpha = options.step / (1 - mean_power);
  const double correction = 1 / (1 - square_power);
  for_each_vec(n, [&](auto at) {
    const Vec gradient = at.load(step);
    const Vec square = blend_square(at.load(squares), beta, gradient);
    at.store(squares, square);
    at.store(step, alpha * at.load(mean) / (guarded_sqrt(square * correction) + options.epsilon));
  });
}

bool advance(Index n, double scale, const double* x, const double* step, double* to) {
  Vec spoilt{};
  for_each_vec(n, [&](auto at) {
    const Vec by = scale * at.load(step);
    const Vec zero = by * 0.;  // not a number if `by` is not finite
    spoilt += zero;
    at.store(to, at.load(x) + (zero == Vec{} ? by : Vec{}));
  });
  return detail::reduce_sum(spoilt) == 0;
}

}  // namespace magva::rule
