#include "models/anchored_minibatch.hpp"

namespace magva {

namespace {

struct AnchoredScratch final : Scratch {
  AnchoredScratch(std::unique_ptr<Scratch> minibatch, Index dimension, Index draws)
      : inner(std::move(minibatch)),
        theta(dimension, draws),
        gradient(dimension, draws),
        log_density(draws),
        correction(dimension) {}
  std::unique_ptr<Scratch> inner;
  Matrix theta, gradient;
  Vector log_density, correction;
};

}  // namespace

std::unique_ptr<Scratch> AnchoredMinibatch::make_scratch(Index max_draws) const {
  return std::make_unique<AnchoredScratch>(minibatch_.make_scratch(max_draws + 1), dimension(),
                                           max_draws + 1);
}

void AnchoredMinibatch::evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                                 Evaluation& evaluation) const {
  auto& scratch = static_cast<AnchoredScratch&>(evaluation.scratch);
  const Index draws = theta.cols();
  scratch.theta.leftCols(draws) = theta;
  scratch.theta.col(draws) = anchor_.theta;
  Evaluation inner{*scratch.inner, evaluation.workers, evaluation.iteration};
  minibatch_.evaluate(scratch.theta.leftCols(draws + 1), scratch.log_density.head(draws + 1),
                      scratch.gradient.leftCols(draws + 1), inner);
  const double shift = anchor_.log_density - scratch.log_density(draws);
  scratch.correction = anchor_.gradient - scratch.gradient.col(draws);
  const double at_anchor = scratch.correction.dot(anchor_.theta);
  for (Index s = 0; s < draws; ++s) {
    log_density(s) = scratch.log_density(s) + shift + scratch.correction.dot(theta.col(s)) - at_anchor;
    gradient.col(s) = scratch.gradient.col(s) + scratch.correction;
  }
}

}  // namespace magva
