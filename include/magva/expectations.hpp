#pragma once
// Expectations without draws: what a model, a likelihood and a prior may know about themselves under a
// Gaussian.
//
// By the theorems of Bonnet and Price, the derivatives of E log h(theta), theta ~ N(mu, Sigma), are
// E[gradient] by mu and -E[-Hessian] / 2 by Sigma. A model that can give these three exactly is fitted
// without noise.
#include <memory>
#include <optional>
#include <vector>

#include "magva/types.hpp"

namespace magva {

struct Scratch;
struct Evaluation;

/// N(mean, W W' + diag(d)^2). An empty d counts as zeros: with a Cholesky factor W that is full rank, and
/// with no column in W it is the point `mean` itself.
struct GaussianView {
  Eigen::Ref<const Vector> mean;
  Eigen::Ref<const Matrix> factors;
  Eigen::Ref<const Vector> residual_sd;

  double covariance(Index i, Index j) const {
    const double own = i == j && residual_sd.size() > 0 ? residual_sd(i) * residual_sd(i) : 0.0;
    return factors.row(i).dot(factors.row(j)) + own;
  }
};

/// Parts of a symmetric matrix: entry (row, column) and its mirror image, or one of the diagonal; entries at
/// one place add up.
struct SymmetricEntry {
  Index row;
  Index column;
  double value;
};
using SymmetricEntries = std::vector<SymmetricEntry>;

/// E[-Hessian], called C here, as far as a covariance W W' + diag(d)^2 asks for it.
struct CurvatureProducts {
  Matrix times_factors;  ///< C W
  Vector diagonal;       ///< of C
};

/// Of a log h that is a quadratic and a sum of functions f_i(x_i' theta), at a Gaussian: how E f_i'' changes
/// with the mean and the variance of x_i' theta.
struct PredictorTerms {
  RowMatrix rows;      ///< x_i
  Vector by_mean;      ///< derivative of E f_i'' by the mean
  Vector by_variance;  ///< and by the variance
};

class ExpectedLogDensity;

/// Of a log h with normal priors and fewer terms than parameters. With Q of orthonormal columns, theta is
///   centre + scale o (Q mixing z + r),
/// r orthogonal to Q and standard normal there whatever the data are; only z, with the log density `density`,
/// learns from these, so that all of a posterior of m parameters and n observations is had in about n
/// dimensions.
struct ReducedDensity {
  std::shared_ptr<const ExpectedLogDensity> density;
  Vector centre;
  Vector scale;
  Matrix directions;  ///< Q
  Matrix mixing;      ///< the identity, but for a prior on the intercept at centred predictors
};

/// The capability of a model, asked for once at the start of a fit (Model::expectations).
///
/// The contract: both functions return E log h under q, with every constant, and fill E[gradient]. They are
/// exact: errors are far below what a fit can tell, about 1e-10 for each observation. Where the expectation
/// does not exist or overflows they return a value that is not finite, and do not throw. The scratch is from
/// make_scratch, for at least as many factors as q has. Results do not depend on the number of workers.
class ExpectedLogDensity {
 public:
  virtual ~ExpectedLogDensity() = default;

  virtual Index dimension() const = 0;
  /// Whether log h is concave: then the ELBO has one maximum over all Gaussians, and one mode.
  virtual bool log_concave() const = 0;
  /// Terms whose Hessians have rank one; with fewer of these than half the parameters products are cheaper
  /// than C.
  virtual Index terms() const = 0;

  virtual std::unique_ptr<Scratch> make_scratch(Index factors) const = 0;
  virtual double expect(const GaussianView& q, VectorRef gradient, CurvatureProducts& curvature,
                        Evaluation& evaluation) const = 0;
  /// The same with C itself, dense. At a point, q without factors and residuals, C is -Hessian.
  virtual double expect(const GaussianView& q, VectorRef gradient, Matrix& curvature,
                        Evaluation& evaluation) const = 0;
  /// The same with every `stride`-th of its terms, each counted `stride` times: close enough to start from,
  /// at a fraction of the cost. Null if there is no such thing. It must not outlive this object.
  virtual std::unique_ptr<const ExpectedLogDensity> thinned(Index /*stride*/) const { return nullptr; }
  /// Nothing if log h is no such sum.
  virtual std::optional<PredictorTerms> predictor_terms(const GaussianView& /*q*/) const {
    return std::nullopt;
  }
  /// Nothing if the priors are no normals, or the terms no fewer than the parameters.
  virtual std::optional<ReducedDensity> reduced() const { return std::nullopt; }
};

/// The marginal distribution of a coordinate.
struct NormalMarginal {
  double mean = 0;
  double variance = 0;
};

/// Linear predictors of a block of rows under a Gaussian, a multiple of 8 of them: those that fill up the
/// last block have weight 0.
struct PredictorBlock {
  const double* response;
  const double* weight;
  const double* mean;
  const double* variance;
  const double* covariance;  ///< with the likelihood's own coordinate; null if it has none
  Index rows;
  const double* status = nullptr;  ///< 1 if the event was seen, 0 if right-censored; null: all seen
};

/// Weighted derivatives of the expected log likelihood of each row: `slope` by the predictor's mean,
/// `curvature` minus twice that by its variance, `cross` minus that by its covariance with the own
/// coordinate.
struct PredictorDerivatives {
  double* slope;
  double* curvature;
  double* cross;
};

/// A value with its derivative by the mean of the likelihood's own coordinate, and minus twice that by its
/// variance.
struct NuisanceSums {
  double value = 0;
  double slope = 0;
  double curvature = 0;
};

/// The capability of a likelihood whose predictors are normal.
class ExpectedLikelihood {
 public:
  virtual ~ExpectedLikelihood() = default;
  virtual bool log_concave() const { return true; }
  /// E log p(y | eta, own), without the likelihood's constant, summed over the rows.
  virtual NuisanceSums expect(const PredictorBlock& block, const NormalMarginal& own,
                              const PredictorDerivatives& out) const = 0;
  /// The same of the own coordinate's log prior density.
  virtual NuisanceSums nuisance_prior(const NormalMarginal& /*own*/) const { return {}; }
};

/// Coefficients that are independent normals under a prior; in place of coefficient `intercept`, if there is
/// one, its sum with centre' (all coefficients).
struct IndependentNormals {
  Vector mean;
  Vector sd;
  std::optional<Index> intercept;
  Vector centre;  ///< 0 at the intercept itself
};

/// The capability of a prior whose coefficients are its first coordinates.
class ExpectedPrior {
 public:
  virtual ~ExpectedPrior() = default;
  virtual bool log_concave() const = 0;
  /// Whether its E[-Hessian] is constant but for diagonal entries that each depend on the mean and variance
  /// of their own coordinate alone.
  virtual bool separable() const { return false; }
  /// Nothing if it is no such prior.
  virtual std::optional<IndependentNormals> independent_normals() const { return std::nullopt; }
  /// E log prior; adds its gradient to `gradient`, and its E[-Hessian] to `curvature`.
  virtual double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const = 0;
};

}  // namespace magva
