#pragma once
// Regressions whose response is one of several classes: ordered (cumulative logit) and categorical (softmax).
#include <memory>
#include <vector>

#include "magva/regression.hpp"

namespace magva {

namespace detail {
class ClassLikelihood;
}

/// The prior of the cut points c_1 < c_2 < ... of an ordered regression: independent Student-t, given their
/// order (brms's).
struct CutPointPrior {
  double degrees_of_freedom = 3;
  double location = 0;
  double scale = 2.5;
};

/// log prior + sum_i w_i log P(y_i = class). Coordinates: those of the coefficients' prior, once for each
/// linear predictor; then, for an ordered response, the first cut point and the logarithms of the distances
/// between cut points.
///
/// Responses are 0, 1, ..., classes - 1. Results do not depend on the number of threads.
class ClassRegression final : public Model {
 public:
  /// Throws DataError or UsageError if the parts do not fit together.
  ClassRegression(RegressionData data, std::shared_ptr<const detail::ClassLikelihood> likelihood,
                  std::shared_ptr<const CoefficientPrior> prior);

  Index dimension() const override;
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override;
  Vector start() const override;
  std::string parameter_name(Index i) const override;

  Index classes() const;
  /// Linear predictors of each row: 1 if ordered, classes - 1 if categorical (the first class is the
  /// reference).
  Index predictors() const;
  /// The coefficients at theta, a column for each linear predictor; and the cut points, none if categorical.
  Matrix coefficients(ConstVectorRef theta) const;
  Vector cut_points(ConstVectorRef theta) const;
  /// P(class | row, theta) for rows of any design: a row each, a column for each class. `offset` may be
  /// empty.
  Matrix probabilities(const Design& design, ConstVectorRef offset, ConstVectorRef theta) const;

 private:
  struct Pass;
  const double* coefficients_of(const double* theta, Index predictor, double* buffer) const;
  double finish_draw(ConstMatrixRef theta, Index draw, struct ClassScratch& scratch,
                     MatrixRef gradient) const;

  Vector response_;
  Vector weight_;
  Vector offset_;
  std::vector<std::string> names_;
  std::shared_ptr<const detail::DesignKernel> kernel_;
  std::shared_ptr<const detail::ClassLikelihood> likelihood_;
  std::shared_ptr<const CoefficientPrior> prior_;
};

/// P(y <= k) = 1 / (1 + exp(eta - c_(k+1))), k = 0, ..., classes - 2, with eta = x' beta + offset. The design
/// has no intercept: the cut points are in its place. Throws UsageError with fewer than 2 classes.
ClassRegression ordered_regression(RegressionData data, Index classes,
                                   std::shared_ptr<const CoefficientPrior> prior,
                                   const CutPointPrior& cut_points = {});

/// P(y = k) proportional to exp(eta_k), eta_0 = 0 for the reference class and eta_k = x' beta_k + offset.
ClassRegression categorical_regression(RegressionData data, Index classes,
                                       std::shared_ptr<const CoefficientPrior> prior);

}  // namespace magva
