#pragma once
// A model with the memory and threads to evaluate it: batches of any size, counted, and cut so that a fit can
// be ended soon.
#include <cstdint>

#include "core/control.hpp"
#include "magva/model.hpp"

namespace magva {

class Evaluator {
 public:
  Evaluator(const Model& model, int threads) : Evaluator(model, threads, nullptr, 1) {}
  /// Asks the control, where there is one, before each batch. `cost`: of one evaluation, in gradients of the
  /// whole model.
  Evaluator(const Model& model, int threads, Control* control, double cost = 1);

  /// Log densities and gradients at the columns of theta. A draw that the model cannot evaluate has a log
  /// density of -infinity and a gradient of zeros. Throws Stopped where the fit must end.
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient);
  /// At one point; the log density.
  double evaluate(ConstVectorRef theta, VectorRef gradient);
  /// Log densities alone at the columns of theta, -infinity where the model cannot be evaluated: about half
  /// the time of gradients where the model knows its values on lines.
  Vector evaluate_values(ConstMatrixRef theta);
  /// Log densities alone, on lines through one centre: entry (k, j) is that at
  /// centre + steps(k) directions.col(j), -infinity where the model cannot be evaluated.
  Matrix evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps);

  const Model& model() const { return model_; }
  Index dimension() const { return model_.dimension(); }
  Workers& workers() { return workers_; }
  Control* control() const { return control_; }
  std::int64_t evaluations() const { return evaluations_; }
  std::int64_t rejected() const { return rejected_; }

  /// All that a later evaluation depends on, for checkpoints.
  struct Counters {
    std::int64_t evaluations = 0;
    std::int64_t rejected = 0;
    std::uint64_t calls = 0;
  };
  Counters counters() const { return {evaluations_, rejected_, calls_}; }
  void set(const Counters& to) {
    evaluations_ = to.evaluations;
    rejected_ = to.rejected;
    calls_ = to.calls;
  }

 private:
  /// A batch of points on some lines.
  void evaluate_points(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                       MatrixRef log_density);
  /// The time that a batch may take, and how many columns that is.
  void time_one_column(ConstVectorRef theta);
  void adapt_batch(Index columns, double seconds);

  const Model& model_;
  Workers workers_;
  Control* control_;
  double cost_;
  Index most_columns_;          // that the scratch memory is made for
  Index columns_;               // of the next batch, at most
  double one_column_ = 0;       // seconds for a batch of one; 0 before there was any
  bool last_was_slow_ = false;  // the last batch took longer than it may
  std::unique_ptr<Scratch> scratch_;
  std::int64_t evaluations_ = 0;
  std::int64_t rejected_ = 0;
  std::uint64_t calls_ = 0;
};

/// Whether two evaluations at one point differ, as they do where the model works on minibatches; by more than
/// rounding, which differs where a model adds up in any order.
bool is_stochastic(Evaluator& evaluator, ConstVectorRef at);

/// `requested` threads; for 0 the machine's where the model takes long enough to gain from them.
int choose_threads(int requested, const Model& model);

}  // namespace magva
