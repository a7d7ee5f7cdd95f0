#include "exact/riemannian_lbfgs.hpp"

#include <cmath>
#include <deque>
#include <limits>

#include "core/pair_memory.hpp"

namespace magva {

namespace {

constexpr std::size_t kWindow = 8;  // iterations whose gain must be below the tolerance
constexpr double kArmijo = 1e-4;
constexpr double kWolfe = .9;
constexpr int kTrials = 30;

struct AscentState {
  Vector x;
  Vector gradient;
  double value = 0;
};

/// Bisection for the weak Wolfe conditions (Lewis and Overton 2013); a value of -infinity is one more point
/// that is too far. The best point that rises enough, or none.
bool search_along(RiemannianObjective& objective, const AscentState& from, const Vector& direction,
                  double first, AscentState& to, double& length) {
  const double slope = from.gradient.dot(direction);
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  double t = first;
  bool found = false;
  for (int k = 0; k < kTrials; ++k) {
    AscentState trial{objective.retract(from.x, t * direction), Vector(), 0};
    trial.value = objective.evaluate(trial.x, trial.gradient);
    const bool enough = trial.value >= from.value + kArmijo * t * slope;
    const bool steep = enough && trial.gradient.dot(direction) > kWolfe * slope;
    if (enough && (!found || trial.value >= to.value)) {
      to = std::move(trial);
      length = t;
      found = true;
    }
    if (enough && !steep) return true;
    (enough ? low : high) = t;
    t = std::isfinite(high) ? (low > 0 || std::isfinite(trial.value) ? .5 * (low + high) : .1 * high) : 2 * t;
  }
  return found;
}

}  // namespace

Ascent ascend(RiemannianObjective& objective, Vector start, double tolerance, int max_iterations) {
  AscentState at{std::move(start), Vector(), 0};
  at.value = objective.evaluate(at.x, at.gradient);
  ExactStop stop;
  PairMemory memory;
  std::deque<double> recent{at.value};
  for (; stop.iterations < max_iterations; ++stop.iterations) {
    Vector direction = memory.direction(at.gradient);
    objective.project(at.x, direction);
    if (!(direction.dot(at.gradient) > 0)) {
      memory.clear();
      direction = at.gradient;
    }
    stop.gradient_norm = at.gradient.norm();
    stop.predicted_gain = .5 * direction.dot(at.gradient);
    const bool settled = recent.size() > kWindow && recent.back() - recent.front() < tolerance;
    stop.converged = stop.gradient_norm == 0 || (settled && stop.predicted_gain < tolerance);
    if (stop.converged) break;
    stop.interrupted = !objective.go_on(at.value);
    if (stop.interrupted) break;
    AscentState next;
    double length = 1;
    const double first = memory.empty() ? std::min(1., 1 / direction.norm()) : 1;
    if (!search_along(objective, at, direction, first, next, length)) {
      // Not even along the gradient is there anything higher: rounding is all that is left.
      stop.converged = memory.empty() && stop.predicted_gain < 1e-6 * (1 + std::abs(at.value));
      if (memory.empty()) break;
      memory.clear();
      continue;
    }
    Vector step = length * direction;
    Vector change = std::move(at.gradient);
    objective.project(next.x, step);
    objective.project(next.x, change);
    change -= next.gradient;
    memory.add(std::move(step), std::move(change));
    at = std::move(next);
    recent.push_back(at.value);
    if (recent.size() > kWindow + 1) recent.pop_front();
  }
  return {std::move(at.x), at.value, stop};
}

}  // namespace magva
