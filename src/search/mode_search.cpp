#include "search/mode_search.hpp"

#include <Eigen/Cholesky>

#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "fit/constants.hpp"

namespace magva {

namespace {

struct Pair {
  Vector step;
  Vector change;  // of the gradient of -log density
  double inverse_curvature;
};

using Guess = std::optional<Eigen::LLT<Matrix>>;  // of the curvature

// The two-loop recursion (Nocedal 1980): the inverse Hessian's product with the gradient of the log density.
Vector ascent_direction(const std::deque<Pair>& pairs, ConstVectorRef gradient, const Guess& guess) {
  Vector direction = gradient;
  std::vector<double> alpha(pairs.size());
  for (std::size_t i = pairs.size(); i-- > 0;) {
    alpha[i] = pairs[i].inverse_curvature * pairs[i].step.dot(direction);
    direction -= alpha[i] * pairs[i].change;
  }
  if (guess) {
    direction = guess->solve(direction).eval();
  } else if (!pairs.empty()) {
    const Pair& last = pairs.back();
    direction *= last.step.dot(last.change) / last.change.squaredNorm();
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double beta = pairs[i].inverse_curvature * pairs[i].change.dot(direction);
    direction += (alpha[i] - beta) * pairs[i].step;
  }
  return direction;
}

// Bisection for the weak Wolfe conditions (Lewis and Overton 2013): it needs no smoothness, and a log density
// of -infinity is one more point that is too far.
bool line_search(Evaluator& evaluator, const PathPoint& from, ConstVectorRef direction, double first,
                 PathPoint& to) {
  const double slope = from.gradient.dot(direction);
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  double t = first;
  bool found = false;
  for (int k = 0; k < constants::kLineSearchTrials; ++k) {
    PathPoint trial{from.theta + t * direction, Vector(direction.size()), 0};
    trial.log_density = evaluator.evaluate(trial.theta, trial.gradient);
    const bool enough = trial.log_density >= from.log_density + constants::kArmijo * t * slope;
    if (enough && (!found || trial.log_density >= to.log_density)) {
      to = trial;
      found = true;
    }
    if (!enough)
      high = t;
    else if (trial.gradient.dot(direction) > constants::kWolfe * slope)
      low = t;
    else
      return true;
    // Far from the support the log density is -infinity: shrink faster than by halves.
    if (std::isfinite(high))
      t = std::isfinite(trial.log_density) || low > 0 ? .5 * (low + high) : .1 * high;
    else
      t = 2 * t;
  }
  return found;
}

void remember(std::deque<Pair>& pairs, const PathPoint& from, const PathPoint& to) {
  Pair pair{to.theta - from.theta, from.gradient - to.gradient, 0};
  const double curvature = pair.step.dot(pair.change);
  if (!(curvature > constants::kPairCurvature * pair.step.norm() * pair.change.norm())) return;
  pair.inverse_curvature = 1 / curvature;
  pairs.push_back(std::move(pair));
  if (pairs.size() > constants::kPairs) pairs.pop_front();
}

void thin(std::vector<PathPoint>& path) {
  if (path.size() < 2 * constants::kPathPoints) return;
  std::vector<PathPoint> kept;
  for (std::size_t i = 0; i < path.size(); i += 2) kept.push_back(std::move(path[i]));
  path = std::move(kept);
}

ModeSearch search_with(Evaluator& evaluator, ConstVectorRef start, int max_iterations, const Guess& guess) {
  ModeSearch search;
  PathPoint at{start, Vector(start.size()), 0};
  at.log_density = evaluator.evaluate(at.theta, at.gradient);
  search.path.push_back(at);
  std::deque<Pair> pairs;
  std::deque<double> recent{at.log_density};
  int stride = 1;
  const std::int64_t most = evaluator.evaluations() + constants::kSearchTrials * max_iterations;
  for (int k = 1; k <= max_iterations && evaluator.evaluations() < most; ++k) {
    Vector direction = ascent_direction(pairs, at.gradient, guess);
    if (!(direction.dot(at.gradient) > 0)) {
      pairs.clear();
      direction = at.gradient;
    }
    const double size = direction.norm();
    if (!(size > 0) || !std::isfinite(size)) {
      search.converged = size == 0;
      break;
    }
    PathPoint next;
    const double first = pairs.empty() && !guess ? std::min(1., 1 / size) : 1;
    if (!line_search(evaluator, at, direction, first, next)) {
      if (pairs.empty()) {
        search.converged =
            true;  // not even along the gradient is there anything higher: rounding is all that is left
        break;
      }
      pairs.clear();
      continue;
    }
    remember(pairs, at, next);
    at = std::move(next);
    if (k % stride == 0) {
      const std::size_t before = search.path.size();
      search.path.push_back(at);
      thin(search.path);
      if (search.path.size() < before) stride *= 2;
    }
    recent.push_back(at.log_density);
    if (recent.size() > constants::kModeWindow) recent.pop_front();
    if (recent.size() == constants::kModeWindow &&
        recent.back() - recent.front() < constants::kModeTolerance * (1 + 1e-9 * std::abs(at.log_density))) {
      search.converged = true;
      break;
    }
  }
  search.end = std::move(at);
  return search;
}

}  // namespace

ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations) {
  return search_with(evaluator, start, max_iterations, std::nullopt);
}

ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations,
                       ConstMatrixRef curvature) {
  return search_with(evaluator, start, max_iterations, Eigen::LLT<Matrix>(curvature));
}

}  // namespace magva
