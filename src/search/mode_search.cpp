#include "search/mode_search.hpp"

#include <Eigen/Cholesky>

#include <cmath>
#include <deque>
#include <limits>

#include "core/pair_memory.hpp"

namespace magva {

namespace {

/// A step must gain at least this share of what the slope promises.
constexpr double kArmijo = 1e-4;
/// A step must leave at most this share of the slope.
constexpr double kWolfe = .9;
/// Points that one line search tries.
constexpr int kLineSearchTrials = 20;
/// Points that a whole search tries at most, for each iteration that it may take.
constexpr int kSearchTrials = 3;
/// A search whose curvature is known ends, too, when a step has shown it along the way and the next one
/// promises less than so many nats.
constexpr double kSettledPromise = 1e-4;
/// Points of the way to the mode that are kept (between this and twice this).
constexpr std::size_t kPathPoints = 16;

using Guess = std::function<Vector(const Vector&)>;  // solves with the curvature; empty where none is known

// Bisection for the weak Wolfe conditions (Lewis and Overton 2013): it needs no smoothness, and a log density
// of -infinity is one more point that is too far.
bool line_search(const ObjectiveFunction& objective, const PathPoint& from, ConstVectorRef direction,
                 double first, PathPoint& to) {
  const double slope = from.gradient.dot(direction);
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  double t = first;
  bool found = false;
  for (int k = 0; k < kLineSearchTrials; ++k) {
    PathPoint trial{from.theta + t * direction, Vector(direction.size()), 0};
    trial.log_density = objective(trial.theta, trial.gradient);
    const bool enough = trial.log_density >= from.log_density + kArmijo * t * slope;
    if (enough && (!found || trial.log_density >= to.log_density)) {
      to = trial;
      found = true;
    }
    if (!enough)
      high = t;
    else if (trial.gradient.dot(direction) > kWolfe * slope)
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

void thin(std::vector<PathPoint>& path) {
  if (path.size() < 2 * kPathPoints) return;
  std::vector<PathPoint> kept;
  for (std::size_t i = 0; i < path.size(); i += 2) kept.push_back(std::move(path[i]));
  path = std::move(kept);
}

/// A search under way.
class Search {
 public:
  Search(const ObjectiveFunction& objective, ConstVectorRef start, const SearchLimits& limits, Guess guess)
      : limits_(limits),
        objective_([this, &objective](ConstVectorRef theta, VectorRef gradient) {
          ++trials_;
          return objective(theta, gradient);
        }),
        guess_(std::move(guess)),
        at_{start, Vector(start.size()), 0},
        pairs_(limits.pairs) {
    at_.log_density = objective(at_.theta, at_.gradient);
    found_.path.push_back(at_);
    recent_.push_back(at_.log_density);
  }

  ModeSearch run() {
    const int most = limits_.iterations;
    try {
      for (int k = 1; k <= most && trials_ < kSearchTrials * most && step(k); ++k) {
      }
    } catch (const Stopped&) {  // the highest point so far
    }
    found_.end = std::move(at_);
    return std::move(found_);
  }

 private:
  /// False where the search is over.
  bool step(int number) {
    Vector direction = guess_ ? pairs_.direction(at_.gradient, guess_) : pairs_.direction(at_.gradient);
    if (!(direction.dot(at_.gradient) > 0)) {
      pairs_.clear();
      direction = at_.gradient;
    }
    const double size = direction.norm();
    if (!(size > 0) || !std::isfinite(size)) {
      found_.converged = size == 0;
      return false;
    }
    if (guess_ && !pairs_.empty() && .5 * direction.dot(at_.gradient) < kSettledPromise) {
      found_.converged = true;
      return false;
    }
    PathPoint next;
    const double first = pairs_.empty() && !guess_ ? std::min(1., 1 / size) : 1;
    if (!line_search(objective_, at_, direction, first, next)) {
      // Where not even along the gradient there is anything higher, rounding is all that is left.
      found_.converged = pairs_.empty();
      pairs_.clear();
      return !found_.converged;
    }
    pairs_.add(next.theta - at_.theta, at_.gradient - next.gradient);
    at_ = std::move(next);
    keep_on_path(number);
    found_.converged = stopped_rising();
    return !found_.converged;
  }

  void keep_on_path(int number) {
    if (number % stride_ != 0) return;
    const std::size_t before = found_.path.size();
    found_.path.push_back(at_);
    thin(found_.path);
    if (found_.path.size() < before) stride_ *= 2;
  }

  bool stopped_rising() {
    recent_.push_back(at_.log_density);
    if (recent_.size() > limits_.window) recent_.pop_front();
    return recent_.size() == limits_.window &&
           recent_.back() - recent_.front() < limits_.tolerance * (1 + 1e-9 * std::abs(at_.log_density));
  }

  SearchLimits limits_;
  ObjectiveFunction objective_;
  int trials_ = 0;
  Guess guess_;
  PathPoint at_;
  ModeSearch found_;
  PairMemory pairs_;
  std::deque<double> recent_;
  int stride_ = 1;
};

ObjectiveFunction log_density_of(Evaluator& evaluator) {
  return [&](ConstVectorRef theta, VectorRef gradient) { return evaluator.evaluate(theta, gradient); };
}

}  // namespace

ModeSearch maximize(const ObjectiveFunction& objective, ConstVectorRef start, const SearchLimits& limits) {
  return Search(objective, start, limits, nullptr).run();
}

ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations) {
  return maximize(log_density_of(evaluator), start, {max_iterations});
}

ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations,
                       ConstMatrixRef curvature) {
  const Eigen::LLT<Matrix> factor(curvature);
  return Search(log_density_of(evaluator), start, {max_iterations},
                [&](const Vector& v) -> Vector { return factor.solve(v); })
      .run();
}

ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations,
                       std::shared_ptr<const FactoredPrecision> curvature) {
  return Search(log_density_of(evaluator), start, {max_iterations},
                [&](const Vector& v) -> Vector { return curvature->solve(v).col(0); })
      .run();
}

}  // namespace magva
