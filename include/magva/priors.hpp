#pragma once
// Priors of regression coefficients as a list of blocks: each coefficient, or group of them, has its own.
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "magva/positive_prior.hpp"
#include "magva/regression.hpp"

namespace magva {

/// beta_j ~ N(location_j, scale_j^2), independently.
struct NormalBlock {
  Vector location;
  Vector scale;
};

/// (beta_j - location_j) / scale_j ~ Student-t with degrees_of_freedom_j.
struct StudentTBlock {
  Vector degrees_of_freedom;
  Vector location;
  Vector scale;
};

/// The block's one coefficient is the intercept, and its prior is at centred predictors:
/// beta_0 + sum_j centre_j beta_j ~ N(location, scale^2), with the other coefficients' column means as
/// `centre` and 0 for the intercept itself. Coefficients stay those of the columns as they are.
struct CentredInterceptBlock {
  double location = 0;
  double scale = 1;
  Vector centre;  ///< an entry for each coefficient of the model
};

/// beta_j ~ N(0, sd^2) with sd unknown: the wiggly part of a smooth term (see SmoothBasis). One further
/// coordinate, log sd.
struct HierarchicalBlock {
  std::string name;  ///< of the coordinate: log_sd[name]
  PositivePrior sd;
};

/// beta_j = xi_j lambda_j tau, xi_j ~ N(0, 1), lambda_j ~ half-Cauchy(0, 1), tau ~ half-Cauchy(0,
/// global_scale). With a slab, regularised (Piironen and Vehtari 2017): lambda_j is replaced by c lambda_j /
/// sqrt(c^2 + tau^2 lambda_j^2), c^2 ~ inverse gamma(nu / 2, nu slab_scale^2 / 2). Coordinates: xi in the
/// coefficients' places, then log lambda_j, log tau and with a slab log c.
struct HorseshoeBlock {
  double global_scale = 1;
  std::optional<double> slab_scale = std::nullopt;
  double slab_degrees_of_freedom = 4;
};

using BlockPrior =
    std::variant<NormalBlock, StudentTBlock, CentredInterceptBlock, HierarchicalBlock, HorseshoeBlock>;

/// The prior of the coefficients first .. first + count - 1.
struct PriorBlock {
  Index first;
  Index count;
  BlockPrior prior;
};

/// Blocks in any order, which together have each coefficient once; further coordinates come after all
/// coefficients, in the order of the blocks. Expectations are known without draws unless there is a
/// horseshoe. Throws UsageError if the blocks do not fit.
std::shared_ptr<const CoefficientPrior> make_prior(const std::vector<PriorBlock>& blocks, Index coefficients);

/// As the field writes it, for coefficient j of the block: "normal(0, 2.5)", "student_t(3, 0, 1)".
std::string describe_prior(const BlockPrior& prior, Index j = 0);

/// A smooth function of x in the form of a mixed model: f(x) = linear(x) + wiggly(x) with a straight line,
/// which a plain prior suits, and columns whose coefficients are independent N(0, sd^2) if neighbouring
/// B-splines' coefficients have second differences with that sd (Eilers and Marx 1996; Wood 2017, 5.4). Every
/// column has mean 0 over the x that it was made from.
class SmoothBasis {
 public:
  /// Throws DataError if x has fewer than 4 distinct values.
  explicit SmoothBasis(ConstVectorRef x, Index functions = 12);
  /// As made before, from its numbers.
  SmoothBasis(BSplineBasis basis, Matrix transform, Vector means);

  /// 1 + wiggly columns.
  Index columns() const { return transform_.cols(); }
  /// One row for each x, the straight line first. Outside the range the curve goes on in a straight line.
  RowMatrix operator()(ConstVectorRef x) const;

  const BSplineBasis& basis() const { return basis_; }
  const Matrix& transform() const { return transform_; }
  const Vector& means() const { return means_; }

 private:
  BSplineBasis basis_;
  Matrix transform_;  // B-splines -> columns
  Vector means_;      // of the columns, subtracted
};

}  // namespace magva
