#pragma once
// Regression models: a likelihood times a prior over a design, each written once and freely combined.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "magva/design.hpp"
#include "magva/likelihood.hpp"
#include "magva/model.hpp"
#include "magva/prior.hpp"

namespace magva {

namespace detail {
class DesignKernel;
}

/// What was observed. The design's first column is the intercept's, all ones.
struct RegressionData {
  Design design;
  Vector response;
  Vector weights;                  ///< empty: every observation counts once
  std::vector<std::string> names;  ///< of the coefficients, one a column; empty: beta[1], beta[2], ...
};

/// Some of the rows, standing for all: their part of the log likelihood is multiplied by `scale`.
struct RowSample {
  const Index* rows = nullptr;  ///< null: the rows 0 .. count - 1
  Index count = 0;
  double scale = 1.0;
};

/// log h(theta) = log prior(theta) + sum_i w_i log p(y_i | x_i' beta(theta)), with every constant.
///
/// One evaluation reads the design once for all draws, in blocks of rows that stay in cache. The rows are cut
/// into lanes whose number depends on the size of the design alone and whose sums are added in order: the
/// same bits for any number of threads. The order of a draw's sums depends on how many draws there are and on
/// its place among them, never on the others' numbers.
class Regression final : public Model {
 public:
  /// Throws DataError where the data do not fit together or the likelihood cannot have produced them.
  Regression(RegressionData data, std::shared_ptr<const Likelihood> likelihood,
             std::shared_ptr<const CoefficientPrior> prior);

  Index dimension() const override;
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override;
  Vector start() const override;
  const ExpectedLogDensity* expectations() const override { return expected_.get(); }
  std::string parameter_name(Index i) const override;

  Index rows() const { return rows_; }
  const Design& design() const;
  Index coefficient_count() const { return prior_->coefficients(); }
  const Likelihood& likelihood() const { return *likelihood_; }
  /// The regression coefficients at theta, which the non-centred horseshoe makes out of its coordinates.
  void coefficients(ConstVectorRef theta, VectorRef out) const;
  /// The likelihood's own shape at theta.
  Shape shape(ConstVectorRef theta) const;

  /// `evaluate` on a sample of the rows, with scratch for at least as many draws and rows.
  void evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                       MatrixRef gradient, Evaluation& evaluation) const;
  std::unique_ptr<Scratch> make_scratch(Index max_draws, Index sampled_rows) const;

 private:
  Index rows_;
  std::shared_ptr<const Vector> response_;  // filled up with zeros to a multiple of 8, as are the weights
  std::shared_ptr<const Vector> weight_;
  bool unweighted_ = false;
  std::vector<std::string> names_;
  double constant_;  // of the log likelihood of all rows
  std::shared_ptr<const detail::DesignKernel> kernel_;
  std::shared_ptr<const Likelihood> likelihood_;
  std::shared_ptr<const CoefficientPrior> prior_;
  std::shared_ptr<const ExpectedLogDensity> expected_;  // null: not known without draws
};

Regression logistic_regression(RegressionData data, const PriorOptions& prior = NormalPriorOptions{});
Regression poisson_regression(RegressionData data, const PriorOptions& prior = NormalPriorOptions{});

struct LinearOptions {
  /// Known noise scale sigma; unset: unknown, the coordinate log sigma.
  std::optional<double> noise_sd = std::nullopt;
  /// Scale of the half-Cauchy prior on sigma; unset: the (weighted) standard deviation of the response, or 1
  /// if the response is constant.
  std::optional<double> sigma_prior_scale = std::nullopt;
  std::vector<std::string> problems() const;
};

Regression linear_regression(RegressionData data, const PriorOptions& prior = NormalPriorOptions{},
                             const LinearOptions& options = {});

}  // namespace magva
