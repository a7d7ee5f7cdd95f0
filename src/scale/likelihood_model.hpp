#pragma once
// A regression in two parts: the sums over its rows, which may be spread over devices and machines, and the
// priors, which are added once.
#include <memory>
#include <string>
#include <vector>

#include "algorithm1/device_family.hpp"
#include "models/regression_terms.hpp"
#include "models/row_sample.hpp"

namespace magva::detail {

/// log p(y | beta, own) as a model of its own. Its coordinates are the coefficients and, after them, the
/// likelihood's own; it has no prior. What it knows about expectations is in these coordinates, too.
std::unique_ptr<const SampledModel> make_likelihood_model(const Regression& regression);

/// A regression with the priors of `terms`, whose sums over the rows are `rows`'. Takes its start from the
/// caller: it looks at all rows, which `terms` need not have. `whole` is the regression on all rows if they
/// are on this machine, too: what is asked about single rows is answered by it.
class RegressionOf final : public SampledModel, public FamilyHost {
 public:
  RegressionOf(const RegressionTerms& terms, std::unique_ptr<const SampledModel> rows, Vector start,
               std::shared_ptr<const Regression> whole = nullptr);
  ~RegressionOf() override;

  Index dimension() const override;
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  Index rows() const override { return rows_->rows(); }
  void evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                       MatrixRef gradient, Evaluation& evaluation) const override;
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override;
  std::unique_ptr<Scratch> make_sample_scratch(Index max_draws, Index max_rows) const override;
  const ExpectedLogDensity* expectations() const override;
  Vector start() const override { return start_; }
  std::string parameter_name(Index i) const override;
  std::unique_ptr<DeviceFamily> make_device_family(magva_cuda_family_options options) const override;
  std::optional<std::string> family_stays() const override;
  /// Whether they would allow for the family beside them, and it would pay.
  bool wants_family() const;
  /// Null if not all rows are on this machine.
  const Regression* whole() const { return whole_.get(); }

 private:
  class Expected;
  /// Adds the priors to what evaluate_rows(theta, log_density, gradient, evaluation) gives.
  template <class EvaluateRows>
  void evaluate_by(const EvaluateRows& evaluate_rows, ConstMatrixRef theta, VectorRef log_density,
                   MatrixRef gradient, Evaluation& evaluation) const;

  std::shared_ptr<const Likelihood> likelihood_;
  std::shared_ptr<const CoefficientPrior> prior_;
  std::vector<std::string> names_;
  std::unique_ptr<const SampledModel> rows_;
  Vector start_;
  std::shared_ptr<const Regression> whole_;
  std::unique_ptr<const Expected> expected_;
};

}  // namespace magva::detail
