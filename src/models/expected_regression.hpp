#pragma once
// The expected log density of a regression under a Gaussian: each linear predictor is normal, so that one
// pass over the rows, with one-dimensional integrals, gives E log h and its derivatives (Challis and Barber
// 2013).
#include <memory>

#include "magva/expectations.hpp"
#include "magva/model.hpp"
#include "models/design_kernel.hpp"

namespace magva::detail {

/// What an ExpectedRegression looks at; all of it is shared with the Regression.
struct RegressionParts {
  std::shared_ptr<const DesignKernel> kernel;
  std::shared_ptr<const Vector> response;  // filled up to a multiple of 8, as are the weights
  std::shared_ptr<const Vector> weight;
  std::shared_ptr<const Vector> offset;  // null: none
  std::shared_ptr<const Vector> status;  // null: no row is censored
  double constant;                       // of the log likelihood of all rows
  Index dimension;
  bool has_nuisance;  // the last coordinate
  std::shared_ptr<const ExpectedLikelihood> likelihood;
  std::shared_ptr<const ExpectedPrior> prior;
};

/// All entries, in double precision.
RowMatrix dense_rows(const Design& design);

class ExpectedRegression final : public ExpectedLogDensity {
 public:
  explicit ExpectedRegression(RegressionParts parts) : parts_(std::move(parts)) {}

  Index dimension() const override { return parts_.dimension; }
  bool log_concave() const override {
    return parts_.likelihood->log_concave() && parts_.prior->log_concave();
  }
  Index terms() const override { return parts_.kernel->design().rows(); }
  std::unique_ptr<Scratch> make_scratch(Index factors) const override;
  double expect(const GaussianView& q, VectorRef gradient, CurvatureProducts& curvature,
                Evaluation& evaluation) const override;
  double expect(const GaussianView& q, VectorRef gradient, Matrix& curvature,
                Evaluation& evaluation) const override;
  std::unique_ptr<const ExpectedLogDensity> thinned(Index stride) const override;
  std::optional<PredictorTerms> predictor_terms(const GaussianView& q) const override;
  std::optional<ReducedDensity> reduced() const override;

 private:
  RegressionParts parts_;
};

}  // namespace magva::detail
