#include "search/mode_search.hpp"

#include <Eigen/Cholesky>

#include <cmath>
#include <deque>
#include <limits>

namespace magva {

namespace {

/// Pairs that L-BFGS remembers.
constexpr std::size_t kLbfgsPairs = 20;
/// A pair is kept only if it has seen positive curvature, relative to its lengths.
constexpr double kPairCurvature = 1e-10;
/// A step must gain at least this share of what the slope promises.
constexpr double kArmijo = 1e-4;
/// A step must leave at most this share of the slope.
constexpr double kWolfe = .9;
/// Points that one line search tries.
constexpr int kLineSearchTrials = 20;
/// Points that a whole search tries at most, for each iteration that it may take.
constexpr int kSearchTrials = 3;
/// The search ends when the log density rose by less than kModeTolerance nats in kModeWindow iterations.
constexpr std::size_t kModeWindow = 8;
constexpr double kModeTolerance = 1e-3;
/// Points of the way to the mode that are kept (between this and twice this).
constexpr std::size_t kPathPoints = 16;

struct Pair {
  Vector step;
  Vector change;  // of the gradient of -log density
  double inverse_curvature;
};

using Guess = std::function<Vector(const Vector&)>;  // solves with the curvature; empty where none is known

// The two-loop recursion (Nocedal 1980): the inverse Hessian's product with the gradient of the log density.
Vector ascent_direction(const std::deque<Pair>& pairs, ConstVectorRef gradient, const Guess& guess) {
  Vector direction = gradient;
  std::vector<double> alpha(pairs.size());
  for (std::size_t i = pairs.size(); i-- > 0;) {
    alpha[i] = pairs[i].inverse_curvature * pairs[i].step.dot(direction);
    direction -= alpha[i] * pairs[i].change;
  }
  if (guess) {
    direction = guess(direction);
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

void remember(std::deque<Pair>& pairs, const PathPoint& from, const PathPoint& to) {
  Pair pair{to.theta - from.theta, from.gradient - to.gradient, 0};
  const double curvature = pair.step.dot(pair.change);
  if (!(curvature > kPairCurvature * pair.step.norm() * pair.change.norm())) return;
  pair.inverse_curvature = 1 / curvature;
  pairs.push_back(std::move(pair));
  if (pairs.size() > kLbfgsPairs) pairs.pop_front();
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
  Search(const ObjectiveFunction& objective, ConstVectorRef start, Guess guess)
      : objective_([this, &objective](ConstVectorRef theta, VectorRef gradient) {
          ++trials_;
          return objective(theta, gradient);
        }),
        guess_(std::move(guess)),
        at_{start, Vector(start.size()), 0} {
    at_.log_density = objective(at_.theta, at_.gradient);
    found_.path.push_back(at_);
    recent_.push_back(at_.log_density);
  }

  ModeSearch run(int max_iterations) {
    try {
      for (int k = 1; k <= max_iterations && trials_ < kSearchTrials * max_iterations && step(k); ++k) {
      }
    } catch (const Stopped&) {  // the highest point so far
    }
    found_.end = std::move(at_);
    return std::move(found_);
  }

 private:
  /// False where the search is over.
  bool step(int number) {
    Vector direction = ascent_direction(pairs_, at_.gradient, guess_);
    if (!(direction.dot(at_.gradient) > 0)) {
      pairs_.clear();
      direction = at_.gradient;
    }
    const double size = direction.norm();
    if (!(size > 0) || !std::isfinite(size)) {
      found_.converged = size == 0;
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
    remember(pairs_, at_, next);
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
    if (recent_.size() > kModeWindow) recent_.pop_front();
    return recent_.size() == kModeWindow &&
           recent_.back() - recent_.front() < kModeTolerance * (1 + 1e-9 * std::abs(at_.log_density));
  }

  ObjectiveFunction objective_;
  int trials_ = 0;
  Guess guess_;
  PathPoint at_;
  ModeSearch found_;
  std::deque<Pair> pairs_;
  std::deque<double> recent_;
  int stride_ = 1;
};

ObjectiveFunction log_density_of(Evaluator& evaluator) {
  return [&](ConstVectorRef theta, VectorRef gradient) { return evaluator.evaluate(theta, gradient); };
}

}  // namespace

ModeSearch maximize(const ObjectiveFunction& objective, ConstVectorRef start, int max_iterations) {
  return Search(objective, start, nullptr).run(max_iterations);
}

ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations) {
  return maximize(log_density_of(evaluator), start, max_iterations);
}

ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations,
                       ConstMatrixRef curvature) {
  const Eigen::LLT<Matrix> factor(curvature);
  return Search(log_density_of(evaluator), start, [&](const Vector& v) -> Vector { return factor.solve(v); })
      .run(max_iterations);
}

ModeSearch search_mode(Evaluator& evaluator, ConstVectorRef start, int max_iterations,
                       std::shared_ptr<const FactoredPrecision> curvature) {
  return Search(log_density_of(evaluator), start,
                [&](const Vector& v) -> Vector { return curvature->solve(v).col(0); })
      .run(max_iterations);
}

}  // namespace magva
