#pragma once
// The expected log density of a regression under a Gaussian: each linear predictor is normal, so that one
// pass over the rows, with one-dimensional integrals, gives E log h and its derivatives (Challis and Barber
// 2013).
#include <memory>
#include <optional>
#include <string>

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

class ExactlyFitted;

class ExpectedRegression final : public ExpectedLogDensity {
 public:
  explicit ExpectedRegression(RegressionParts parts);

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

  /// Whether all rows can be fitted exactly, and the residual sd is so small that rounding decides the rest.
  bool saturated(ConstVectorRef mean) const;
  /// The least residual sd, by its logarithm, where all rows can be fitted.
  double log_least_noise() const { return log_least_noise_; }

 private:
  RegressionParts parts_;
  std::shared_ptr<ExactlyFitted> fitted_;
  double log_least_noise_;
};

/// Where the rows of a linear regression are fitted exactly, as are repeated rows of which fewer differ than
/// there are columns, nothing bounds its residual sd below, and the ELBO rises without end. It counts as
/// -infinity beyond a least residual sd, so that an ascent ends there. A sentence if it has.
std::optional<std::string> saturation(const ExpectedLogDensity& expected, ConstVectorRef mean);
/// A mean with a larger residual sd, where that of the given one is the least, or smaller.
Vector short_of_saturation(const ExpectedLogDensity& expected, Vector mean);

}  // namespace magva::detail
