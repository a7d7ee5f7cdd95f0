#pragma once
// Minibatches with a control variate: near a point where the full model is known, a sample of rows need only
// say how the density differs from there.
#include "magva/minibatch.hpp"

namespace magva {

/// The full model's log density and gradient at a point.
struct Anchor {
  Vector theta;
  double log_density = 0;
  Vector gradient;
};

/// With h the full model, b a minibatch's estimate of it and a the anchor, evaluates
///   b(theta) + [h(a) - b(a)] + [grad h(a) - grad b(a)]' (theta - a),
/// which is unbiased like b itself, and exact to first order around a: its noise falls with the square of the
/// distance from the anchor. Costs one more draw an evaluation.
class AnchoredMinibatch final : public Model {
 public:
  /// The minibatch must outlive this.
  AnchoredMinibatch(const Minibatch& minibatch, Anchor anchor)
      : minibatch_(minibatch), anchor_(std::move(anchor)) {}

  Index dimension() const override { return minibatch_.dimension(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override;
  Vector start() const override { return anchor_.theta; }
  std::string parameter_name(Index i) const override { return minibatch_.parameter_name(i); }

 private:
  const Minibatch& minibatch_;
  Anchor anchor_;
};

}  // namespace magva
