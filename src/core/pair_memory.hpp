#pragma once
// What L-BFGS remembers: the last steps, each with the change of the negative gradient. On a manifold both
// are in the tangent space of the step's end.
#include <deque>
#include <vector>

#include "magva/types.hpp"

namespace magva {

class PairMemory {
 public:
  /// Of the last `most` pairs.
  explicit PairMemory(std::size_t most = 20) : most_(most) {}

  bool empty() const { return pairs_.empty(); }
  void clear() { pairs_.clear(); }

  /// The two-loop recursion (Nocedal 1980), from a multiple of the identity.
  Vector direction(const Vector& gradient) const {
    return direction(gradient, [&](Vector v) {
      if (!pairs_.empty()) v /= pairs_.back().inverse_curvature * pairs_.back().change.squaredNorm();
      return v;
    });
  }
  /// From a given inverse of the negative Hessian.
  template <class Solve>
  Vector direction(const Vector& gradient, Solve&& solve) const {
    Vector out = gradient;
    std::vector<double> alpha(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
      alpha[i] = pairs_[i].inverse_curvature * pairs_[i].step.dot(out);
      out -= alpha[i] * pairs_[i].change;
    }
    out = solve(std::move(out));
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const double beta = pairs_[i].inverse_curvature * pairs_[i].change.dot(out);
      out += (alpha[i] - beta) * pairs_[i].step;
    }
    return out;
  }

  /// Kept only if it has seen positive curvature, relative to its lengths.
  void add(Vector step, Vector change) {
    constexpr double kLeastCurvature = 1e-10;
    const double curvature = step.dot(change);
    if (!(curvature > kLeastCurvature * step.norm() * change.norm())) return;
    pairs_.push_back({std::move(step), std::move(change), 1 / curvature});
    if (pairs_.size() > most_) pairs_.pop_front();
  }

 private:
  struct Pair {
    Vector step;
    Vector change;
    double inverse_curvature;
  };
  std::size_t most_;
  std::deque<Pair> pairs_;
};

}  // namespace magva
