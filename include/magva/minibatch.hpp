#pragma once
// A regression that looks at a random sample of its rows at each evaluation: an unbiased estimate of log h
// and its gradient at a fraction of the cost.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "magva/regression.hpp"

namespace magva {

class SampledModel;

struct MinibatchOptions {
  Index rows = 256;  ///< at each evaluation, at most
  Index run =
      1;  ///< consecutive rows taken together: larger reads disks better, 1 is right for rows in any order
  std::uint64_t seed = 1;  ///< the sample is a function of seed and iteration
  std::vector<std::string> validate() const;
};

/// Runs of rows without replacement: with B batches in an epoch, the data are cut into strata of B runs, and
/// each batch takes one run from each stratum, in an order that is random anew for every stratum and epoch.
/// Every row is as likely in a batch as any other, is read once in an epoch, and rows are read in order. The
/// sampled log likelihood is multiplied by B; prior and constants are taken whole: a batch is an unbiased
/// estimate, and the mean of an epoch's batches is the full model.
class Minibatch final : public Model {
 public:
  /// Of a Regression, or of what on_device or distribute made of one. Throws UsageError if the model is none
  /// of these or the options are invalid. A batch of all rows or more is the full model.
  Minibatch(std::shared_ptr<const Model> model, const MinibatchOptions& options);

  Index dimension() const override { return full_->dimension(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override;
  Vector start() const override { return full_->start(); }
  std::string parameter_name(Index i) const override { return full_->parameter_name(i); }

  /// The model on all rows.
  const Model& full() const { return *full_; }
  std::shared_ptr<const Model> model() const { return full_; }
  /// Of the full model.
  Index rows() const;
  const MinibatchOptions& options() const { return options_; }
  /// The rows that iteration uses, in order.
  std::vector<Index> rows_at(std::uint64_t iteration) const;
  /// In an epoch, and what a batch's log likelihood is multiplied by.
  Index batches() const { return batches_; }

  /// The rows behind a model; null if it is not a sum over rows.
  static std::shared_ptr<const SampledModel> rows_of(const std::shared_ptr<const Model>& model);

 private:
  class RegressionRows;
  /// use(begin, end) for the runs of an iteration, in order.
  template <class Use>
  void for_each_run(std::uint64_t iteration, Use use) const;
  Index choose(std::uint64_t iteration, Index* rows) const;
  /// Runs longer than a row may lie on disk: has them read ahead.
  void fetch(std::uint64_t iteration) const;

  std::shared_ptr<const Model> full_;
  std::shared_ptr<const SampledModel> sampled_;  // the same
  Index run_;
  Index runs_;     // in all the data
  Index batches_;  // in an epoch, and the runs of a stratum but the last
  Index strata_;
  MinibatchOptions options_;
};

/// A run that suits the size of the data: single rows, or pieces worth a disk's while where the design is
/// larger than 1 GB.
Index minibatch_run(const Regression& regression);

}  // namespace magva
