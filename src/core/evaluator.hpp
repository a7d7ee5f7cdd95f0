#pragma once
// A model with the memory and threads to evaluate it: batches of any size, counted.
#include <cstdint>

#include "magva/model.hpp"

namespace magva {

class Evaluator {
 public:
  Evaluator(const Model& model, int threads);

  /// Log densities and gradients at the columns of theta. A draw that the model cannot evaluate has a log
  /// density of -infinity and a gradient of zeros.
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient);
  /// At one point; the log density.
  double evaluate(ConstVectorRef theta, VectorRef gradient);

  const Model& model() const { return model_; }
  Index dimension() const { return model_.dimension(); }
  Workers& workers() { return workers_; }
  std::int64_t evaluations() const { return evaluations_; }
  std::int64_t rejected() const { return rejected_; }
  /// Names the next minibatch; a resumed fit sets it back.
  std::uint64_t calls() const { return calls_; }
  void restore(std::int64_t evaluations, std::int64_t rejected, std::uint64_t calls);

 private:
  const Model& model_;
  Workers workers_;
  Index columns_;  // the largest batch that the model sees
  std::unique_ptr<Scratch> scratch_;
  std::int64_t evaluations_ = 0;
  std::int64_t rejected_ = 0;
  std::uint64_t calls_ = 0;
};

/// Whether two evaluations at one point differ, as they do where the model works on minibatches; by more than
/// rounding, which differs where a model adds up in any order.
bool is_stochastic(Evaluator& evaluator, ConstVectorRef at);

}  // namespace magva
