#pragma once
// A regression that looks at a random sample of its rows at each evaluation: an unbiased estimate of log h
// and its gradient at a fraction of the cost.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "magva/model/regression.hpp"

namespace magva {

struct MinibatchOptions {
  Index rows = 256;  ///< sampled at each evaluation, about
  Index run =
      1;  ///< consecutive rows taken together: larger reads disks better, 1 is right for rows in any order
  std::uint64_t seed = 1;  ///< the sample is a function of seed and iteration
  std::vector<std::string> problems() const;
};

/// The data are cut into as many equal strata as runs are sampled, and one run is taken from each, uniformly:
/// every row is expected as often as any other, samples of different iterations are independent, and rows are
/// read in order. The sampled log likelihood is scaled by total / sampled runs; prior and constants are taken
/// whole.
class Minibatch final : public Model {
 public:
  /// Throws UsageError where the options cannot be meant. A batch of all rows or more is the full model.
  Minibatch(std::shared_ptr<const Regression> regression, const MinibatchOptions& options);

  Index dimension() const override { return full_->dimension(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override;
  Vector start() const override { return full_->start(); }
  std::string parameter_name(Index i) const override { return full_->parameter_name(i); }

  /// The model on all rows.
  const Regression& full() const { return *full_; }
  /// The rows that iteration uses, in order.
  std::vector<Index> rows_at(std::uint64_t iteration) const;
  /// What their log likelihood is multiplied by.
  double scale() const { return static_cast<double>(runs_) / static_cast<double>(sampled_); }

 private:
  Index choose(std::uint64_t iteration, Index* rows) const;

  std::shared_ptr<const Regression> full_;
  Index run_;
  Index runs_;     // in all the data
  Index sampled_;  // runs
  std::uint64_t seed_;
};

}  // namespace magva
