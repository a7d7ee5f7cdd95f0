#include "magva/regression.hpp"

#include <fmt/format.h>

#include "magva/error.hpp"

namespace magva {

std::vector<std::string> PsplineOptions::validate() const {
  std::vector<std::string> found = prior.validate();
  for (std::string& problem : noise.validate()) found.push_back(std::move(problem));
  if (degree < 0) found.push_back(fmt::format("degree is {}, but it must not be negative", degree));
  if (functions <= degree)
    found.push_back(fmt::format("functions is {}, but splines of degree {} need at least {}", functions,
                                degree, degree + 1));
  if (lower && upper && !(*lower < *upper))
    found.push_back(fmt::format("lower is {} and upper is {}, but lower must be less", *lower, *upper));
  return found;
}

Pspline pspline_regression(ConstVectorRef covariate, ConstVectorRef response, ConstVectorRef weights,
                           const PsplineOptions& options) {
  for (const std::string& problem : options.validate()) throw UsageError(problem);
  if (covariate.size() == 0) throw DataError("there is no observation to fit a P-spline to");
  if (!covariate.allFinite()) throw DataError("the covariate of a P-spline must be finite in every row");
  const double lower = options.lower.value_or(covariate.minCoeff());
  const double upper = options.upper.value_or(covariate.maxCoeff());
  if (!(lower < upper))
    throw DataError(fmt::format("the covariate has the single value {}; a curve needs more than one", lower));
  BSplineBasis basis(options.functions, options.degree, lower, upper);
  RegressionData data{Design::own(basis(covariate)), response, weights, {}};
  return {basis, Regression(std::move(data), outlier_mixture(options.noise),
                            make_prior(options.prior, options.functions))};
}

}  // namespace magva
